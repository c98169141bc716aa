"""Pad."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import axis, concat, pad, slice_, vector
from shardc.frontend.onnx.values import Array
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.values import Tensor
from shardc.ops import hlo

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
    size = x.shape[dim]
    if mode == "edge":
        return _joined(n, x, dim, _repeated(n, x, dim, 0, low), _repeated(n, x, dim, size - 1, high))
    if mode == "wrap" and max(low, high) <= size:
        return _joined(n, x, dim, slice_(n.e, x, dim, size - low, size), slice_(n.e, x, dim, 0, high))
    if mode == "reflect" and max(low, high) < size:
        before, behind = slice_(n.e, x, dim, 1, 1 + low), slice_(n.e, x, dim, size - 1 - high, size - 1)
        return _joined(n, x, dim, _turned(n, before, dim), _turned(n, behind, dim))
    n.places(size + low + high)
    places = cast(Array, np.pad(np.arange(size), (low, high), mode=cast(Any, mode)))
    return take(n.e, x, vector(n.e, places), dim)


def _joined(n: Node, x: Tensor, dim: int, before: Tensor, behind: Tensor) -> Tensor:
    return concat(n.e, [part for part in (before, x, behind) if part.shape[dim]], dim)


def _turned(n: Node, x: Tensor, dim: int) -> Tensor:
    return n.e.op(hlo.reverse.name, x, dimensions=(dim,)) if x.shape[dim] > 1 else x


def _repeated(n: Node, x: Tensor, dim: int, place: int, count: int) -> Tensor:
    shape = tuple(count if i == dim else size for i, size in enumerate(x.shape))
    return n.e.broadcast_in_dim(slice_(n.e, x, dim, place, place + 1), shape, tuple(range(x.rank)))


OPERATORS: dict[str, Lower] = {"Pad": _pad}
