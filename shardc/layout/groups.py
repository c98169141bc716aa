"""From rows of mesh positions to the mesh axes along which they lie.

On a mesh x=2, y=4 the rows [[0, 1, 2, 3], [4, 5, 6, 7]] lie along y, [[0, 4], …] along x, [[0, 2], [1, 3], …]
along the major half of y, and [[0, 4, 1, 5, 2, 6, 3, 7]] along (y, x), major to minor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardc.layout.axes import Axis, merge
from shardc.layout.mesh import Mesh

Numbers = NDArray[np.int64]
Pairs = tuple[tuple[int, int], ...]


@lru_cache(maxsize=4096)
def position_over(mesh: Mesh, axes: tuple[Axis, ...]) -> Numbers:
    """For every position of the mesh, in row-major order, its position over `axes`: int64[size]."""
    index = np.zeros(mesh.size, np.int64)
    for axis in axes:
        index = index * axis.size + mesh.coordinates(axis)
    return index


def group_of(mesh: Mesh, axes: tuple[Axis, ...]) -> Numbers:
    """For every position a number of the group it is in: of those that differ over `axes` only."""
    key = np.arange(mesh.size)
    for axis in axes:
        key = key - mesh.coordinates(axis) * _stride(mesh, axis)
    return key


def axes_of_rows(mesh: Mesh, rows: Numbers) -> tuple[Axis, ...] | None:
    """The axes, major to minor, over which member i of every row stands at position i; None if none fit.

    `rows` (groups, members) hold every position of the mesh once. Rows of one member have no axes: ().
    """
    if rows.ndim != 2 or sorted(rows.reshape(-1).tolist()) != list(range(mesh.size)):
        return None
    axes = _along(mesh, (rows[0] - rows[0, 0]).tolist())
    if axes is None:
        return None
    over, groups = position_over(mesh, axes), group_of(mesh, axes)
    members = list(range(rows.shape[1]))
    fits = all(over[row].tolist() == members and len(set(groups[row].tolist())) == 1 for row in rows)
    return axes if fits else None


def axes_of_positions(mesh: Mesh, numbers: Numbers) -> tuple[Axis, ...] | None:
    """The axes over which every device's position is what `numbers` says, by position of the mesh."""
    values, firsts = np.unique(numbers, return_index=True)
    if not np.array_equal(values, np.arange(len(values))):
        return None
    axes = _along(mesh, firsts.tolist())
    return axes if axes is not None and np.array_equal(position_over(mesh, axes), numbers) else None


def axes_of_pairs(mesh: Mesh, pairs: Pairs, manual: Sequence[str]) -> tuple[tuple[Axis, ...], Pairs] | None:
    """The fewest of the `manual` axes over which all groups send alike, and the pairs of positions over them.

    `pairs` are (source, target) positions of the mesh. None if something is sent along other axes, or if
    groups that differ along other axes send differently.
    """
    names = [name for name in mesh.sizes if name in manual and mesh.sizes[name] > 1]
    for count in range(len(names) + 1):
        for chosen in combinations(names, count):
            axes = tuple(mesh.axis(name) for name in chosen)
            found = _in_all_groups(mesh, axes, pairs)
            if found is not None:
                return axes, found
    return None


def _in_all_groups(mesh: Mesh, axes: tuple[Axis, ...], pairs: Pairs) -> Pairs | None:
    """The pairs over `axes` that every group of them sends along; None if the groups differ or mix."""
    at, group = position_over(mesh, axes), group_of(mesh, axes)
    sent: dict[int, list[tuple[int, int]]] = {int(number): [] for number in group}
    for source, target in pairs:
        if group[source] != group[target]:
            return None
        sent[int(group[source])].append((int(at[source]), int(at[target])))
    first, *others = (tuple(sorted(own)) for own in sent.values())
    return first if all(own == first for own in others) else None


def _along(mesh: Mesh, offsets: Sequence[int]) -> tuple[Axis, ...] | None:
    """The axes that lead from the first of a row of positions to the others, by their distances from it.

    Minor axes first: distances grow in equal steps along a part of an axis, then the next one takes its step.
    """
    found: list[Axis] = []
    made = 1
    while made < len(offsets):
        step = offsets[made]
        axis = _with_step(mesh, step)
        if axis is None:
            return None
        count = 1
        while count < axis.end and made * count < len(offsets) and offsets[made * count] == count * step:
            count += 1
        if axis.end % count or count == 1:
            return None
        found.append(Axis(axis.name, count, axis.end // count))
        made *= count
    return merge(reversed(found)) if made == len(offsets) else None


def _with_step(mesh: Mesh, step: int) -> Axis | None:
    """The major part of an axis whose neighbours are `step` positions apart."""
    for name, size in mesh.axes:
        stride = _stride(mesh, mesh.axis(name))
        if stride <= step < stride * size and step % stride == 0 and size % (step // stride) == 0:
            return Axis(name, size // (step // stride))
    return None


def _stride(mesh: Mesh, axis: Axis) -> int:
    """How far apart positions are that are neighbours along an axis."""
    names = list(mesh.sizes)
    minor = prod(mesh.sizes[name] for name in names[names.index(axis.name) + 1 :])
    return minor * (mesh.sizes[axis.name] // axis.end)
