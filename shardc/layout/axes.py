"""Mesh axes and parts of axes, and how they overlap.

An axis of size n may be viewed as the grid [pre, size, n / (pre * size)]; the middle of that grid is a
sub-axis, written "x":(pre)size in sdy. A full axis has pre 1 and the mesh's size.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Axis(Struct, frozen=True, order=True, cache_hash=True):
    """A mesh axis, or the part of it of `size` positions that `pre` positions are major to."""

    name: str
    size: int
    pre: int = 1

    @property
    def end(self) -> int:
        """The product of the sizes up to and including this part."""
        return self.pre * self.size

    def overlaps(self, other: Axis) -> bool:
        """Whether some positions belong to both parts. An axis of size 1 overlaps itself."""
        if self.name != other.name:
            return False
        return self == other or (self.pre < other.end and other.pre < self.end)

    def contains(self, other: Axis) -> bool:
        """Whether `other` is a part of this part."""
        return self.name == other.name and self.pre <= other.pre and other.end <= self.end

    def is_prefix_of(self, other: Axis) -> bool:
        """Whether this is the major part of `other`, or all of it."""
        return self.name == other.name and self.pre == other.pre and self.size <= other.size

    def coexists(self, other: Axis) -> bool:
        """Whether one refinement of the mesh axis has both parts as unions of its pieces."""
        if self.name != other.name:
            return True
        low, high = sorted((self.pre, other.pre))
        end_low, end_high = sorted((self.end, other.end))
        if high % low or end_high % end_low:
            return False
        return high % end_low == 0 if high >= end_low else end_low % high == 0

    def __str__(self) -> str:
        return self.name


def cut(axis: Axis, others: Iterable[Axis]) -> Axis | None:
    """The longest major part of `axis` that overlaps none of `others`; None if nothing is left."""
    for other in others:
        if not axis.overlaps(other):
            if not axis.coexists(other):
                return None
            continue
        if not axis.coexists(other) or other.pre <= axis.pre:
            return None
        axis = Axis(axis.name, other.pre // axis.pre, axis.pre)
    return axis


def merge(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """The same list with consecutive parts of one axis joined: x:(1)2, x:(2)2 -> x:(1)4."""
    axes = tuple(axes)
    if len(axes) < 2:
        return axes
    merged: list[Axis] = []
    for axis in axes:
        if merged and merged[-1].name == axis.name and merged[-1].end == axis.pre:
            last = merged.pop()
            axis = Axis(axis.name, last.size * axis.size, last.pre)
        merged.append(axis)
    return tuple(merged)


def size_of(axes: Iterable[Axis]) -> int:
    """The number of parts that the axes split something into."""
    parts = 1
    for axis in axes:
        parts *= axis.size
    return parts
