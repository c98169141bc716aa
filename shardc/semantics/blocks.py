"""Global arrays as blocks of devices, and back.

Blocks are listed by position in the mesh, row-major over its axes. A block has the ceiling size in every
dimension; the last blocks of an uneven dimension end in zeros. Positions that hold the same block share one
array.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from math import prod
from typing import Any, Protocol

import numpy as np

from shardc.graph.types import identity
from shardc.layout import Axis, Mesh, Sharding
from shardc.layout.limits import finfo
from shardc.semantics.arrays import Array, quiet, widen
from shardc.semantics.reduction import UFUNCS, dtype_name


class BlockError(ValueError):
    """Blocks that don't form one array: devices disagree where they must hold copies."""


class BrokenPromise(BlockError):
    """Devices disagree where the program says that they hold copies."""


class Numbers(Protocol):
    """Elements that are no numbers of NumPy's: how two combine, what changes nothing, which are equal."""

    def combine(self, left: Array, right: Array, kind: str) -> Array: ...
    def identity(self, kind: str) -> Array: ...
    def equal(self, left: Array, right: Array) -> Array: ...


NUMBERS: dict[np.dtype[Any], Numbers] = {}
"""By the type of the elements."""


@lru_cache(maxsize=4096)
def positions(mesh: Mesh, axes: tuple[Axis, ...]) -> tuple[int, ...]:
    """For every position of the mesh its position over `axes`, major to minor."""
    index = np.zeros(mesh.size, np.int64)
    for axis in axes:
        index = index * axis.size + mesh.coordinates(axis)
    return tuple(index.tolist())


@lru_cache(maxsize=4096)
def groups(mesh: Mesh, axes: tuple[Axis, ...]) -> tuple[tuple[int, ...], ...]:
    """The positions that differ only over `axes`, each group in the order of its position over them."""
    key = np.arange(mesh.size)
    names = list(mesh.sizes)
    for axis in axes:
        minor = prod(mesh.sizes[name] for name in names[names.index(axis.name) + 1 :])
        key = key - mesh.coordinates(axis) * minor * (mesh.sizes[axis.name] // axis.end)
    over = positions(mesh, axes)
    found: dict[int, list[int]] = {}
    for position, first in enumerate(key.tolist()):
        found.setdefault(first, []).append(position)
    return tuple(tuple(sorted(members, key=lambda p: over[p])) for members in found.values())


def identity_array(shape: Sequence[int], dtype: np.dtype[np.generic], kind: str) -> Array:
    """An array of the element that changes nothing in a combination by `kind`; a broadcast view."""
    if dtype in NUMBERS:
        return np.broadcast_to(NUMBERS[dtype].identity(kind), tuple(shape))
    return np.broadcast_to(np.asarray(identity(kind, dtype_name(dtype)), dtype), tuple(shape))


@quiet
def combine(arrays: Sequence[Array], kind: str) -> Array:
    """The arrays combined element by element by `kind`; narrow floats are summed in f32."""
    if arrays[0].dtype in NUMBERS:
        return reduce(partial(NUMBERS[arrays[0].dtype].combine, kind=kind), arrays)
    total = widen(arrays[0])
    function = UFUNCS["or" if kind == "sum" and total.dtype == np.bool_ else kind]
    for array in arrays[1:]:
        total = function(total, widen(array))
    return np.asarray(total, arrays[0].dtype)


def cut(array: Array, sharding: Sharding) -> list[Array]:
    """The block of every position. Position 0 over the unreduced axes holds values, others the identity."""
    mesh = sharding.mesh
    places = [positions(mesh, dim.axes) for dim in sharding.dims]
    partial = positions(mesh, sharding.unreduced)
    shape = sharding.local_shape(array.shape)
    made: dict[tuple[int, ...], Array] = {}
    blocks: list[Array] = []
    for position in range(mesh.size):
        place = tuple(where[position] for where in places)
        key = (*place, min(partial[position], 1))
        if key not in made:
            whole = partial[position] == 0
            made[key] = (
                _block(array, place, shape) if whole else identity_array(shape, array.dtype, sharding.kind)
            )
        blocks.append(made[key])
    return blocks


def _slices(place: Sequence[int], shape: Sequence[int], size: Sequence[int]) -> tuple[slice, ...]:
    return tuple(
        slice(min(index * step, n), min((index + 1) * step, n))
        for index, step, n in zip(place, shape, size, strict=True)
    )


def _block(array: Array, place: Sequence[int], shape: tuple[int, ...]) -> Array:
    block = array[_slices(place, shape, array.shape)]
    if block.shape == shape:
        return block
    padded = np.zeros(shape, array.dtype)
    padded[tuple(map(slice, block.shape))] = block
    return padded


def assemble(
    blocks: Sequence[Array], sharding: Sharding, shape: tuple[int, ...], check: bool = True
) -> Array:
    """The global array of that shape; padding is dropped and partial results are combined.

    Where several positions hold copies the first counts; BlockError if another differs (unless not `check`).
    """
    mesh = sharding.mesh
    places = [positions(mesh, dim.axes) for dim in sharding.dims]
    local = sharding.local_shape(shape)
    result = np.empty(shape, blocks[0].dtype)
    first: dict[tuple[int, ...], int] = {}
    wholes: dict[tuple[int, ...], Array] = {}
    for group in groups(mesh, sharding.unreduced):
        place = tuple(where[group[0]] for where in places)
        for position in group:
            _check_shape(blocks[position], local, position)
        members = [blocks[position] for position in group]
        whole = members[0] if len(members) == 1 else combine(members, sharding.kind)
        slices = _slices(place, local, shape)
        inside = whole[tuple(slice(0, part.stop - part.start) for part in slices)]
        if place not in first:
            first[place], wholes[place] = group[0], inside
            result[slices] = inside
        elif check and not same(wholes[place], inside):
            raise _disagreement(sharding, (first[place], group[0]), (wholes[place], inside))
    return result


def _disagreement(sharding: Sharding, where: tuple[int, int], arrays: tuple[Array, Array]) -> BlockError:
    left, right = (_coordinates(sharding.mesh, position) for position in where)
    index = tuple(np.argwhere(~_equal(*arrays))[0].tolist())
    return BlockError(
        f"{left} and {right} hold different values where {sharding} says they hold copies: "
        f"{arrays[0][index]} and {arrays[1][index]} at {list(index)} of their blocks"
    )


def check_copies(mesh: Mesh, group: Sequence[int], blocks: Sequence[Array]) -> None:
    """BrokenPromise unless the blocks at the positions of the group are copies, as a program says they are.

    Floats may be off by the square root of the unit roundoff, as a part of the largest element: devices that
    add the same terms in different orders differ by far less, those that add others by far more.
    """
    first = blocks[group[0]]
    for position in group[1:]:
        other = blocks[position]
        if same(first, other) or _close(first, other):
            continue
        index = tuple(np.argwhere(~_equal(first, other))[0].tolist())
        left, right = (_coordinates(mesh, p) for p in (group[0], position))
        values = "" if first.dtype in NUMBERS else f"{first[index]} and {other[index]} "
        raise BrokenPromise(
            f"{left} and {right} hold different values, and check=False promises that they are equal: "
            f"{values}at {list(index)} of their blocks"
        )


@quiet
def _close(left: Array, right: Array) -> bool:
    """Whether floats agree in half of their digits."""
    if left.dtype in NUMBERS or left.dtype.kind in "biu":
        return False
    unit = float(finfo(left.dtype).eps) / 2
    scale = np.max(np.abs(np.where(np.isfinite(left), left, 0)), initial=0.0)
    return bool(np.all((np.abs(left - right) <= unit**0.5 * scale) | _equal(left, right)))


def _coordinates(mesh: Mesh, position: int) -> str:
    """x=0, y=3 for a position."""
    return ", ".join(f"{name}={mesh.coordinates(mesh.axis(name))[position]}" for name in mesh.sizes)


def _check_shape(block: Array, local: tuple[int, ...], position: int) -> None:
    if block.shape != local:
        raise BlockError(f"the block at position {position} has shape {list(block.shape)}, not {list(local)}")


def same(left: Array, right: Array) -> bool:
    """Whether two arrays have the same elements; NaN is the same as NaN."""
    return left is right or bool(np.all(_equal(left, right)))


def _equal(left: Array, right: Array) -> Array:
    if left.dtype in NUMBERS:
        return NUMBERS[left.dtype].equal(left, right)
    return (left == right) | ((left != left) & (right != right))
