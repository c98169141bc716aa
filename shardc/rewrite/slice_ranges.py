"""What slices without steps take of tensors."""

from __future__ import annotations

from typing import cast

from msgspec import Struct
from xdsl.ir import Operation

from shardc.dialects.convert import python_of
from shardc.dialects.types import type_of
from shardc.ops import hlo

Ints = tuple[int, ...]

WIDTHS = ("edge_padding_low", "edge_padding_high", "interior_padding")
"""The attributes of padding."""


class Range(Struct, frozen=True):
    """What a slice takes of each dimension: from where to where."""

    starts: Ints
    limits: Ints

    @classmethod
    def of(cls, op: Operation) -> Range | None:
        """Of an operation; None if it is no slice or takes steps."""
        if op.name != hlo.slice_.name:
            return None
        starts, limits, strides = (
            cast(Ints, python_of(op.properties[key])) for key in ("start_indices", "limit_indices", "strides")
        )
        return cls(starts, limits) if all(step == 1 for step in strides) else None

    @classmethod
    def taken(cls, op: Operation) -> Range | None:
        """Of a slice, and of padding by less than nothing; None if it is neither, or takes steps."""
        if op.name != hlo.pad.name:
            return cls.of(op)
        low, high, interior = (cast(Ints, python_of(op.properties[key])) for key in WIDTHS)
        if any(interior) or max((*low, *high), default=0) > 0:
            return None
        ends = zip(type_of(op.operands[0].type).shape, high, strict=True)
        return cls(tuple(-n for n in low), tuple(size + n for size, n in ends))

    def within(self, dim: int, first: int, size: int) -> Range | None:
        """What it takes of `size` elements of a dimension from `first` on, counted from there."""
        start, limit = max(self.starts[dim] - first, 0), min(self.limits[dim] - first, size)
        if start >= limit:
            return None
        return Range(_put(self.starts, dim, start), _put(self.limits, dim, limit))

    def after(self, other: Range) -> Range:
        """What it takes of what the other one takes."""
        starts = tuple(a + b for a, b in zip(self.starts, other.starts, strict=True))
        return Range(starts, tuple(a + b for a, b in zip(self.limits, other.starts, strict=True)))

    @property
    def shape(self) -> Ints:
        return tuple(limit - start for start, limit in zip(self.starts, self.limits, strict=True))


def _put(numbers: Ints, dim: int, number: int) -> Ints:
    return (*numbers[:dim], number, *numbers[dim + 1 :])
