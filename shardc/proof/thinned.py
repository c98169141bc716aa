"""Meshes of which a part is left: each position along an axis stands for some, and sums count them.

mesh x = 128 of which x = 5 is left: its positions stand for 1, 1, 1, 1 and 124
%s = spmd.all_reduce(%p) over x, sum  ->  %q = %p * (124 on the last position along x, 1 on others)
%s = spmd.all_reduce(%q) over x, sum
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import cast

import numpy as np
from msgspec import Struct

from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.layout.groups import position_over
from shardc.proof.classes import counts
from shardc.proof.digits import Digits
from shardc.proof.shorter import Masks, Pairs, near, runs


class Thinned(Mesh, frozen=True, dict=True, cache_hash=True):
    """stands_for: for each axis, how many positions each of those that are left stands for."""

    stands_for: tuple[tuple[str, tuple[int, ...]], ...] = ()

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


class Remeshed(Struct):
    """Writes a program for a mesh with other axes: masks are as in Shorter, with the new numbers."""

    whole: Mesh | None
    meshes: dict[Mesh, Mesh] = {}
    masks: Masks = {}

    def axis(self, old: Axis) -> Axis:
        """What is left of an axis, or of a part of one."""
        raise NotImplementedError

    def stands_for(self, old: Axis) -> list[int]:
        """How many positions each that is left stands for."""
        raise NotImplementedError

    def lasts(self, axes: Sequence[Axis]) -> list[tuple[Axis, int]]:
        """Parts of the axes that are left whose last position stands for so many."""
        raise NotImplementedError

    def each(self, axes: Sequence[Axis]) -> int:
        """How many positions all of them stand for, but for those."""
        return 1

    def pairs(self, axes: Sequence[Axis], old: Pairs) -> Pairs:
        """What is sent along axes."""
        return old

    def mesh(self, old: Mesh) -> Mesh:
        """A mesh with these axes, of which a part is left."""
        if self.whole is None or old.axes != self.whole.axes:
            return old
        if old not in self.meshes:
            axes = tuple((name, self.axis(old.axis(name)).size) for name in old.sizes)
            stands_for = [(name, self.stands_for(old.axis(name))) for name in old.sizes]
            if isinstance(old, Thinned):
                both = [(name, zip(old.counts[name], now, strict=False)) for name, now in stands_for]
                changed = {name for (name, size), (_, now) in zip(old.axes, axes, strict=True) if size != now}
                stands_for = [
                    (name, now if name in changed else [a * b for a, b in pairs])
                    for (name, pairs), (_, now) in zip(both, stands_for, strict=True)
                ]
            counted = tuple((name, tuple(now)) for name, now in stands_for)
            self.meshes[old] = Thinned(old.name, axes, stands_for=counted)
        return self.meshes[old]

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


class Thinner(Remeshed, kw_only=True):
    """Axes of which each position stands for some that are like it."""

    digits: Digits

    def axis(self, old: Axis) -> Axis:
        return self.digits.thinner(old)

    def stands_for(self, old: Axis) -> list[int]:
        return counts(self.digits.part(old))

    def lasts(self, axes: Sequence[Axis]) -> list[tuple[Axis, int]]:
        found: list[tuple[Axis, int]] = []
        for axis in axes:
            place = self.axis(axis).pre
            for before, now in self.digits.part(axis):
                if now < before:
                    found.append((Axis(axis.name, now, place), before - now + 1))
                place *= now
        return found


class Shortened(Remeshed, kw_only=True):
    """Axes that are shorter, with their ends as they were: all positions stand for equally many."""

    found: dict[str, int]

    def axis(self, old: Axis) -> Axis:
        return Axis(old.name, self.found[old.name]) if old.name in self.found and old.size > 1 else old

    def stands_for(self, old: Axis) -> list[int]:
        left = self.axis(old).size
        return [old.size // left] * left

    def lasts(self, axes: Sequence[Axis]) -> list[tuple[Axis, int]]:
        return []

    def each(self, axes: Sequence[Axis]) -> int:
        return prod(axis.size // self.axis(axis).size for axis in axes)

    def pairs(self, axes: Sequence[Axis], old: Pairs) -> Pairs:
        (axis,) = axes
        left = self.axis(axis).size
        if left == axis.size:
            return old
        found: list[tuple[int, int]] = []
        for ends in runs(old):
            first, end, target = (near(number, axis.size, left) for number in ends)
            found += [(first + step, target + step) for step in range(end - first)]
        return tuple(found)
