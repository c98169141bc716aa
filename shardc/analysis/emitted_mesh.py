"""The mesh a program is emitted over: every axis split wherever some sharding or collective splits it.

JAX names whole axes only, so a sub-axis such as "x":(1)2 of x=8 becomes an axis of its own: x_0=2, x_1=4.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.graph import UNKNOWN, Location
from shardc.layout import Axis, Dim, Mesh, Sharding


class EmittedMesh(Struct, frozen=True):
    """The source mesh, and the emitted axes that each of its axes became, major to minor."""

    mesh: Mesh
    pieces: dict[str, tuple[tuple[str, Axis], ...]]

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """Emitted axis names and sizes, in mesh order."""
        return tuple((name, part.size) for parts in self.pieces.values() for name, part in parts)

    def names(self, axes: Iterable[Axis]) -> tuple[str, ...]:
        """The emitted axes that make up these axes, major to minor."""
        return tuple(name for axis in axes for name, part in self.pieces[axis.name] if axis.contains(part))


def splitting(dim: Dim) -> tuple[Axis, ...]:
    """The axes of a dimension that split it; those of size 1 don't."""
    return tuple(axis for axis in dim.axes if axis.size > 1)


def emitted_mesh(mesh: Mesh, axes: Iterable[Axis], loc: Location = UNKNOWN) -> EmittedMesh:
    """The coarsest mesh in which each of `axes` is a union of axes; ShardcError where there is none."""
    boundaries = {name: {1, size} for name, size in mesh.axes}
    for axis in axes:
        boundaries[axis.name] |= {axis.pre, axis.end}
    taken = set(mesh.sizes)
    pieces: dict[str, tuple[tuple[str, Axis], ...]] = {}
    for name, size in mesh.axes:
        parts = _parts(name, size, sorted(boundaries[name]), loc)
        pieces[name] = tuple(zip(_part_names(name, len(parts), taken), parts, strict=True))
    return EmittedMesh(mesh, pieces)


def _parts(name: str, size: int, cuts: list[int], loc: Location) -> list[Axis]:
    if len(cuts) <= 2:
        return [Axis(name, size)]
    for low, high in pairwise(cuts):
        if high % low:
            raise ShardcError(
                f"axis {name} of size {size} is split after {low} positions and after {high}",
                loc,
                f"no mesh has both as axes; use parts of {name} of which one divides the other",
            )
    return [Axis(name, high // low, low) for low, high in pairwise(cuts)]


def _part_names(name: str, count: int, taken: set[str]) -> list[str]:
    if count == 1:
        return [name]
    names: list[str] = []
    number = 0
    while len(names) < count:
        if (candidate := f"{name}_{number}") not in taken:
            names.append(candidate)
            taken.add(candidate)
        number += 1
    return names


def placing_axes(sharding: Sharding) -> Iterable[Axis]:
    """The axes that say where data is."""
    for dim in sharding.dims:
        yield from dim.axes
    yield from sharding.unreduced
