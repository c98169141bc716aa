"""Pad."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import axis, pad, slice_, vector
from shardc.frontend.onnx.values import Array
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.values import Tensor

_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def _pad(n: Node) -> Tensor:
    """Negative widths cut; reflect, edge and wrap take elements of x."""
    x = n.x(0)
    pads = n.ints("pads") if n.version < 11 else n.numbers(1)
    dims = tuple(range(x.rank))
    if n.has(3):
        dims = tuple(axis(dim, x.rank) for dim in n.numbers(3))
    if pads is None or len(pads) != 2 * len(dims):
        raise Invalid(f"pads {list(pads or ())} for {len(dims)} axes")
    low, high = [0] * x.rank, [0] * x.rank
    for i, dim in enumerate(dims):
        low[dim], high[dim] = pads[i], pads[len(dims) + i]
    mode = n.text("mode", "constant")
    if mode == "constant":
        return pad(n.e, x, _filler(n), low, high)
    if mode not in _MODES:
        raise n.unsupported(f"with mode {mode}")
    for dim in dims:
        x = _taken(n, x, dim, low[dim], high[dim], _MODES[mode])
    return x


def _filler(n: Node) -> Tensor | float | int:
    if n.version < 11:
        return n.float("value")
    return n.e.reshape(n.x(2), ()) if n.has(2) else 0


def _taken(n: Node, x: Tensor, dim: int, low: int, high: int, mode: str) -> Tensor:
    x = slice_(n.e, x, dim, max(0, -low), x.shape[dim] - max(0, -high))
    low, high = max(0, low), max(0, high)
    if not low and not high:
        return x
    if low + high > 1 << 20:
        raise n.unsupported(f"by {low + high} elements with mode {mode}")
    places = cast(Array, np.pad(np.arange(n.places(x.shape[dim])), (low, high), mode=cast(Any, mode)))
    return take(n.e, x, vector(n.e, places), dim)


OPERATORS: dict[str, Lower] = {"Pad": _pad}
