"""Operators that sample images at computed places, or add patches up."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.indexing import pixels
from shardc.frontend.onnx.operators.maths import (
    abs_,
    add,
    calc,
    choose,
    compare,
    div,
    mul,
    pad,
    slice_,
    sub,
    transpose,
)
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.ops import hlo

_MODES = {"bilinear": "linear", "bicubic": "cubic"}


def _grid_sample(n: Node) -> Tensor:
    """x[N, C, D1…] at grid[N, O1…, rank], whose coordinates in [-1, 1] are listed last axis first."""
    e, x, grid = n.e, n.x(0), n.x(1)
    rank = x.rank - 2
    mode, padding, align = n.text("mode", "linear"), n.text("padding_mode", "zeros"), n.int("align_corners")
    mode = _MODES.get(mode, mode)
    places: list[Tensor] = []
    for dim in range(rank):
        part = slice_(e, grid, grid.rank - 1, rank - 1 - dim, rank - dim)
        place = _place(e, e.reshape(part, grid.shape[:-1]), x.shape[dim + 2], bool(align))
        place = e.op(hlo.round_nearest_even.name, place) if mode == "nearest" else place
        places.append(_inside(e, place, x.shape[dim + 2], padding, bool(align)))
    channels_last = transpose(e, x, (0, *range(2, x.rank), 1))
    taps = [_taps(e, place, mode) for place in places]
    total: Tensor | None = None
    for chosen in product(*taps):
        weight: Tensor | None = None
        index: list[Tensor] = []
        for (place, factor), size in zip(chosen, x.shape[2:], strict=True):
            inside = _inside(e, place, size, padding, bool(align))
            if padding == "zeros":
                kept = e.op(hlo.and_.name, compare(e, "GE", place, 0), compare(e, "LE", place, size - 1))
                factor = mul(e, factor, e.cast(kept, factor.dtype))
            index.append(e.cast(calc(e, hlo.clamp, 0, inside, size - 1), "i32"))
            weight = factor if weight is None else mul(e, weight, factor)
        assert weight is not None
        values = pixels(e, channels_last, index)
        term = mul(e, values, e.broadcast_in_dim(weight, values.shape, tuple(range(weight.rank))))
        total = term if total is None else add(e, total, term)
    assert total is not None
    return transpose(e, total, (0, total.rank - 1, *range(1, total.rank - 1)))


def _place(e: Emitter, x: Tensor, size: int, align: bool) -> Tensor:
    """From [-1, 1] to pixels."""
    if align:
        return mul(e, div(e, add(e, x, 1), 2), size - 1)
    return div(e, sub(e, mul(e, add(e, x, 1), size), 1), 2)


def _inside(e: Emitter, x: Tensor, size: int, padding: str, align: bool) -> Tensor:
    """Where a place outside the image is looked up."""
    if padding == "border":
        return calc(e, hlo.clamp, 0, x, size - 1)
    if padding == "zeros":
        return x
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    span = high - low
    if not span:
        return calc(e, hlo.clamp, 0, x, 0)
    far = abs_(e, sub(e, x, low))
    turns = e.op(hlo.floor.name, div(e, far, span))
    rest = sub(e, far, mul(e, turns, span))
    odd = compare(e, "NE", calc(e, hlo.remainder, turns, 2), 0)
    return choose(e, odd, sub(e, high, rest), add(e, rest, low))


def _taps(e: Emitter, place: Tensor, mode: str) -> list[tuple[Tensor, Tensor]]:
    """The pixels that count for a place, and their weights."""
    if mode == "nearest":
        return [(place, e.splat(1.0, place.type))]
    base = e.op(hlo.floor.name, place)
    t = sub(e, place, base)
    if mode == "linear":
        return [(base, sub(e, 1, t)), (add(e, base, 1), t)]
    found: list[tuple[Tensor, Tensor]] = []
    for offset in (-1, 0, 1, 2):
        found.append((add(e, base, offset), _cubic(e, abs_(e, sub(e, t, offset)), offset in (0, 1))))
    return found


def _cubic(e: Emitter, d: Tensor, near: bool) -> Tensor:
    """Keys' kernel with a = -0.75."""
    a = -0.75
    if near:
        return add(e, mul(e, mul(e, sub(e, mul(e, d, a + 2), a + 3), d), d), 1)
    inner = mul(e, sub(e, mul(e, d, a), 5 * a), d)
    return sub(e, mul(e, add(e, inner, 8 * a), d), 4 * a)


def _col2im(n: Node) -> Tensor:
    """Patches [N, C * kernel, blocks] added up where they lay in the image."""
    e, x = n.e, n.x(0)
    image, kernel = n.numbers(1), n.numbers(2)
    rank = len(image)
    dilations = n.ints("dilations") or (1,) * rank
    strides = n.ints("strides") or (1,) * rank
    pads = n.ints("pads") or (0,) * (2 * rank)
    whole = [size + pads[i] + pads[rank + i] for i, size in enumerate(image)]
    blocks = [
        (w - (k - 1) * d - 1) // s + 1 for w, k, d, s in zip(whole, kernel, dilations, strides, strict=True)
    ]
    channels = x.shape[1] // prod(kernel)
    parts = e.reshape(x, (x.shape[0], channels, *kernel, *blocks))
    total: Tensor | None = None
    n.parts(prod(kernel))
    for taps in np.ndindex(*kernel):
        part = parts
        for dim, tap in enumerate(taps):
            part = slice_(e, part, 2 + dim, int(tap), int(tap) + 1)
        part = e.reshape(part, (x.shape[0], channels, *blocks))
        low = [int(tap) * d for tap, d in zip(taps, dilations, strict=True)]
        high = [w - a - ((b - 1) * s + 1) for w, a, b, s in zip(whole, low, blocks, strides, strict=True)]
        spread = e.op(
            hlo.pad.name,
            part,
            e.splat(0, part.type.with_shape(())),
            edge_padding_low=(0, 0, *low),
            edge_padding_high=(0, 0, *high),
            interior_padding=(0, 0, *(s - 1 for s in strides)),
        )
        total = spread if total is None else add(e, total, spread)
    assert total is not None
    return pad(e, total, 0, (0, 0, *(-p for p in pads[:rank])), (0, 0, *(-p for p in pads[rank:])))


OPERATORS: dict[str, Lower] = {"GridSample": _grid_sample, "Col2Im": _col2im}
