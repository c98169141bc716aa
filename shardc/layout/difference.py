"""What changes between two shardings of one tensor, in axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile

from shardc.layout.axes import Axis, merge, size_of
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.sharding import Dim, Sharding, text_of

Axes = tuple[Axis, ...]

Place = tuple[int, int]
"""Of an axis the dimension that it splits, and how many blocks one position along it is."""


def lost(before: Sharding, after: Sharding) -> tuple[Axes, ...]:
    """Per dimension the suffix of axes that `after` no longer has; () where it has others instead."""
    return gained(after, before)


def gained(before: Sharding, after: Sharding) -> tuple[Axes, ...]:
    """Per dimension the axes that `after` has beyond those of `before`; () where it lacks some of those."""
    return tuple(_beyond(b.axes, a.axes) for b, a in zip(before.dims, after.dims, strict=True))


def both_slice(one: Sharding, other: Sharding) -> Sharding:
    """The layout with the smallest blocks that the blocks of two layouts are slices of, where axes divide
    dimensions: the axes that both have first in each dimension, and partial sums that both are.

    LayoutError if parts of an axis in them have no common refinement.
    """
    atoms = pieces(one.mesh, (*one.axes(), *other.axes()))

    def first(ours: Axes, theirs: Axes) -> Axes:
        pairs = zip(split(ours, atoms), split(theirs, atoms), strict=False)
        return merge(mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    dims = (Dim(first(d.axes, e.axes)) for d, e in zip(one.dims, other.dims, strict=True))
    both = {*split(other.unreduced, atoms)} if one.kind == other.kind else ()
    partial = merge(atom for atom in split(one.unreduced, atoms) if atom in both)
    return Sharding(one.mesh, tuple(dims), unreduced=partial, kind=one.kind if partial else "sum")


def subtract(axes: Iterable[Axis], gone: Iterable[Axis]) -> Axes:
    """`axes` without the parts that `gone` covers; all of them have a common refinement."""
    gone = tuple(gone)
    left: list[Axis] = []
    for axis in axes:
        kept = [axis]
        for other in gone:
            kept = [part for whole in kept for part in _minus(whole, other)]
        left += kept
    return tuple(left)


def exchanged(before: Sharding, after: Sharding) -> tuple[tuple[Axes, int, int], ...]:
    """The (axes, from dimension, to dimension) that an all_to_all moves, by source, then as they arrive."""
    atoms = pieces(before.mesh, (*before.axes(), *after.axes()))
    home = {atom: dim for dim, axes in enumerate(lost(before, after)) for atom in split(axes, atoms)}
    params: list[tuple[list[Axis], int, int]] = []
    for target, axes in enumerate(gained(before, after)):
        for atom in split(axes, atoms):
            if not params or params[-1][1:] != (home[atom], target):
                params.append(([], home[atom], target))
            params[-1][0].append(atom)
    params.sort(key=lambda param: param[1])
    return tuple((merge(moved), source, target) for moved, source, target in params)


def displaced(before: Sharding, after: Sharding) -> dict[Axis, tuple[Place, Place]]:
    """The axes along which a permute sends blocks, in mesh order, with their places before and after."""
    atoms = pieces(before.mesh, (*before.axes(), *after.axes()))
    old, new = _places(before, atoms), _places(after, atoms)
    return {atom: (old[atom], new[atom]) for atom in atoms if atom in old and old[atom] != new[atom]}


def _places(sharding: Sharding, atoms: Sequence[Axis]) -> dict[Axis, Place]:
    found: dict[Axis, Place] = {}
    for dim, entry in enumerate(sharding.dims):
        axes = split(entry.axes, atoms)
        for i, atom in enumerate(axes):
            found[atom] = (dim, size_of(axes[i + 1 :]))
    return found


def pieces(mesh: Mesh, used: Iterable[Axis]) -> Axes:
    """The mesh axes of which parts are used, split at every boundary of those parts, in mesh order.

    LayoutError if parts of one axis have no common refinement.
    """
    found: list[Axis] = []
    used = tuple(used)
    for name, size in mesh.axes:
        parts = [axis for axis in used if axis.name == name]
        if not parts:
            continue
        ends = sorted({1, size, *(axis.pre for axis in parts), *(axis.end for axis in parts)})
        if any(high % low for low, high in pairwise(ends)):
            texts = " and ".join(sorted({text_of(axis, mesh) for axis in parts}))
            raise LayoutError(f"parts {texts} of axis {name} have no common refinement")
        found += [Axis(name, high // low, low) for low, high in pairwise(ends)] or [Axis(name, 1)]
    return tuple(found)


def split(axes: Iterable[Axis], atoms: Sequence[Axis]) -> Axes:
    """The atoms that a list of axes consists of, major to minor."""
    return tuple(atom for axis in axes for atom in atoms if axis.contains(atom))


def _beyond(short: Axes, long: Axes) -> Axes:
    """What follows the prefix `short` in `long`; nothing if it is no prefix."""
    rest = list(long)
    for axis in short:
        if not rest or not axis.is_prefix_of(rest[0]):
            return ()
        first = rest.pop(0)
        if first.size > axis.size:
            rest.insert(0, Axis(first.name, first.size // axis.size, axis.end))
    return tuple(rest)


def _minus(axis: Axis, other: Axis) -> list[Axis]:
    """The parts of `axis` outside `other`: before it, after it."""
    if axis == other:
        return []
    if not axis.overlaps(other):
        return [axis]
    before = Axis(axis.name, other.pre // axis.pre, axis.pre) if other.pre > axis.pre else None
    after = Axis(axis.name, axis.end // other.end, other.end) if other.end < axis.end else None
    return [part for part in (before, after) if part]
