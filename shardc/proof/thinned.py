"""Meshes of which a part is left: each position along an axis stands for some, and sums count them.

mesh x = 128 of which x = 5 is left: its positions stand for 1, 1, 1, 1 and 124
%s = spmd.all_reduce(%p) over x, sum  ->  %q = %p * (124 on the last position along x, 1 on others)
%s = spmd.all_reduce(%q) over x, sum
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.layout.groups import position_over
from shardc.proof.classes import counts
from shardc.proof.digits import Digits


@dataclass(frozen=True)
class Thinned(Mesh):
    """stands_for: for each axis, how many positions each of those that are left stands for."""

    stands_for: tuple[tuple[str, tuple[int, ...]], ...] = ()

    __hash__ = Mesh.__hash__

    @cached_property
    def counts(self) -> dict[str, tuple[int, ...]]:
        return dict(self.stands_for)


def weights(mesh: Mesh, axes: Sequence[Axis]) -> list[int]:
    """How many positions along whole axes each position of the mesh stands for."""
    found = np.ones(mesh.size, np.int64)
    if isinstance(mesh, Thinned):
        for axis in axes:
            found *= np.array(mesh.counts[axis.name])[position_over(mesh, (axis,))]
    return found.tolist()


@dataclass(slots=True)
class Thinner:
    """Writes a program for the mesh that is left."""

    digits: Digits
    meshes: dict[Mesh, Mesh] = field(default_factory=dict[Mesh, Mesh])

    def mesh(self, old: Mesh) -> Mesh:
        """A mesh with these axes, of which a part is left."""
        whole = self.digits.axes.mesh
        if whole is None or old.axes != whole.axes:
            return old
        if old not in self.meshes:
            factors = {name: self.digits.part(old.axis(name)) for name in old.sizes}
            axes = tuple((name, self.axis(old.axis(name)).size) for name in old.sizes)
            stands_for = tuple((name, tuple(counts(each))) for name, each in factors.items())
            self.meshes[old] = Thinned(old.name, axes, stands_for=stands_for)
        return self.meshes[old]

    def axis(self, old: Axis) -> Axis:
        """What is left of an axis, or of a part of one."""
        return self.digits.thinner(old)

    def attribute(self, value: object) -> object:
        """An attribute of an operation, with the axes that are left."""
        if isinstance(value, Axis):
            return self.axis(value)
        if isinstance(value, Sharding):
            return self._sharding(value)
        if isinstance(value, tuple):
            return tuple(map(self.attribute, cast("tuple[object, ...]", value)))
        return value

    def _sharding(self, old: Sharding) -> Sharding:
        dims = tuple(Dim(tuple(map(self.axis, dim.axes))) for dim in old.dims)
        parts = tuple(map(self.axis, old.unreduced))
        return Sharding(self.mesh(old.mesh), dims, unreduced=parts, kind=old.kind)

    def lasts(self, axes: Sequence[Axis]) -> list[tuple[Axis, int]]:
        """Parts of the axes that are left whose last position stands for so many."""
        found: list[tuple[Axis, int]] = []
        for axis in axes:
            place = self.axis(axis).pre
            for before, now in self.digits.part(axis):
                if now < before:
                    found.append((Axis(axis.name, now, place), before - now + 1))
                place *= now
        return found
