"""Windows that slide over dimensions: how many positions they have, and whether they are tiles.

A sharded dimension needs its neighbours' edges, unless its windows are tiles: they touch, and none crosses an
edge. Then a block of the operand holds the windows of its block of the result (patch embedding, pooling).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shardc.graph import Op
from shardc.ops.rule import Kind
from shardc.ops.rule_builder import RuleBuilder, ints, pairs
from shardc.ops.untyped import UntypedOp

GEOMETRY = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")
"""The attributes that say what windows there are."""

FARTHEST = 2**31
"""By how many elements windows and padding may reach over a tensor: devices count places in 32 bits."""

Pairs = tuple[tuple[int, int], ...]


def windowed(
    op: UntypedOp,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Pairs,
    base_dilations: tuple[int, ...],
    window_dilations: tuple[int, ...],
) -> tuple[int, ...]:
    """The number of window positions in each dimension; 0 where the window does not fit.

    (padded - dilated window) // stride + 1, with padded = low + (size - 1) * dilation + 1 + high.
    """
    for key, values in (
        ("window strides", strides),
        ("padding", padding),
        ("base dilations", base_dilations),
        ("window dilations", window_dilations),
    ):
        op.check_length(key, values, len(sizes))
    for key, values in (("window", window), ("stride", strides)):
        if any(value < 1 for value in values):
            raise op.error(f"has a {key} of {list(values)}; each is at least 1")
    for key, values in (("base dilation", base_dilations), ("window dilation", window_dilations)):
        if any(value < 1 for value in values):
            raise op.error(f"has a {key} of {list(values)}; each is at least 1")
    counts: list[int] = []
    for dim, size in enumerate(sizes):
        low, high = padding[dim]
        padded = low + high + (0 if size == 0 else (size - 1) * base_dilations[dim] + 1)
        dilated = (window[dim] - 1) * window_dilations[dim] + 1
        if max(abs(low), abs(high), dilated) > FARTHEST:
            raise op.error(f"reaches over dimension {dim} of {list(sizes)} by more than 2^31 elements")
        counts.append(0 if padded < dilated else (padded - dilated) // strides[dim] + 1)
    return tuple(counts)


def cumulative_dims(op: Op) -> tuple[int, ...]:
    """The dimensions a reduce_window runs along from one end to the other; () where it is not cumulative."""
    shape, window = op.operands[0].shape, ints(op, "window_dimensions")
    ones = (1,) * len(shape)
    plain = all(
        op.attrs.get(key, ones) == ones for key in ("window_strides", "base_dilations", "window_dilations")
    )
    padding = pairs(op, "padding", len(shape))
    moving = tuple(d for d, (w, p) in enumerate(zip(window, padding, strict=True)) if w > 1 or p != (0, 0))
    ends = all(padding[d] in ((shape[d] - 1, 0), (0, shape[d] - 1)) and window[d] == shape[d] for d in moving)
    return moving if plain and ends else ()


class Window(Struct, frozen=True):
    """The window in one dimension: its length and stride, and whether there is padding or dilation."""

    length: int
    stride: int
    padded: bool

    @property
    def is_single(self) -> bool:
        """Whether every element is a window of its own."""
        return self.length == self.stride == 1 and not self.padded

    def tiles(self, size: int, count: int) -> bool:
        """Whether `count` windows cover a dimension of that size, each element once."""
        return self.length == self.stride and not self.padded and size == count * self.length


def window_of(op: Op, dim: int) -> Window:
    """The window of reduce_window and select_and_scatter in one dimension."""
    rank = op.operands[0].rank
    ones = (1,) * rank
    dilated = ints(op, "base_dilations", ones)[dim] != 1 or ints(op, "window_dilations", ones)[dim] != 1
    return Window(
        ints(op, "window_dimensions", ones)[dim],
        ints(op, "window_strides", ones)[dim],
        dilated or pairs(op, "padding", rank)[dim] != (0, 0),
    )


def along_windows(op: Op, counts: Sequence[int]) -> RuleBuilder:
    """A rule of which dimensions are those of operand 0, in which there are so many windows each: a block of
    it goes with a block of windows."""
    builder = RuleBuilder(op)
    for dim, (size, count) in enumerate(zip(op.operands[0].shape, counts, strict=True)):
        window = window_of(op, dim)
        if window.is_single:
            builder.along(dim, count)
        else:
            builder.along(dim, count, Kind.PERMUTATION, plain=window.tiles(size, count))
    return builder
