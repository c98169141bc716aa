"""max_pool and avg_pool: windows slid over an image."""

from __future__ import annotations

from math import prod

from shardc.frontend.text.builtins.convolution import paddings, per_dim
from shardc.frontend.text.builtins.reductions import combined_by, combiner, identity, wide
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor, Value
from shardc.graph.types import TensorType
from shardc.ops import hlo


def max_pool(
    e: Emitter,
    x: Tensor,
    window: int | tuple[int, ...],
    strides: Value = None,
    padding: Value = "VALID",
    layout: str = "NCHW",
) -> Tensor:
    """The largest element of each window; the windows touch where no strides are given."""
    with e.group("max_pool"):
        return _pooled(e, "max", x, window, strides, padding, layout)[0]


def avg_pool(
    e: Emitter,
    x: Tensor,
    window: int | tuple[int, ...],
    strides: Value = None,
    padding: Value = "VALID",
    layout: str = "NCHW",
) -> Tensor:
    """The mean of each window, its padding counted as zeros."""
    with e.group("avg_pool"):
        floats = e.inexact(x)
        total, size = _pooled(e, "sum", wide(e, floats), window, strides, padding, layout)
        return e.cast(e.op(hlo.divide.name, *e.together(total, float(size))), floats.dtype)


def _pooled(
    e: Emitter,
    kind: str,
    x: Tensor,
    window: int | tuple[int, ...],
    strides: Value,
    padding: Value,
    layout: str,
) -> tuple[Tensor, int]:
    """The elements of each window combined, and how many a window has."""
    rank = x.rank - 2
    if rank < 1:
        raise e.error(f"pooling takes an image [N, C, …] or [N, …, C], not {x.type}")
    if layout not in ("NCHW", "NHWC"):
        raise e.error(f'layout "{layout}" is not NCHW or NHWC')
    lengths = per_dim(e, "window", window, rank)
    steps = lengths if strides is None else per_dim(e, "strides", _numbers(e, strides), rank)
    first = 2 if layout == "NCHW" else 1
    pads = paddings(e, padding, list(x.shape[first : first + rank]), list(lengths), steps)
    if any(pad < 0 or pad >= length for pair, length in zip(pads, lengths, strict=True) for pad in pair):
        raise e.error(
            "padding is not negative, and less than the window", f"window {lengths}, padding {pads}"
        )

    def whole(values: tuple[int, ...], other: int) -> tuple[int, ...]:
        """One value per dimension of the image."""
        front = (other,) * first
        return (*front, *values, *(other,) * (x.rank - first - rank))

    (result,) = e.ops(
        hlo.reduce_window.name,
        x,
        e.splat(identity(kind, x.dtype), TensorType((), x.dtype)),
        regions=[combiner(e, combined_by(kind), x.dtype)],
        weak=x.weak,
        window_dimensions=whole(lengths, 1),
        window_strides=whole(steps, 1),
        base_dilations=(1,) * x.rank,
        window_dilations=(1,) * x.rank,
        padding=tuple(pads[i - first] if first <= i < first + rank else (0, 0) for i in range(x.rank)),
    )
    return result, prod(lengths)


def _numbers(e: Emitter, value: Value) -> int | tuple[int, ...]:
    """A number, or a tuple of numbers."""
    items = value if isinstance(value, tuple) else (value,)
    numbers = tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))
    if len(numbers) < len(items):
        raise e.error("strides is a positive number, or one per spatial dimension")
    return numbers if isinstance(value, tuple) else numbers[0]
