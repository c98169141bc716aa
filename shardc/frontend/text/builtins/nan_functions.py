"""Reductions that leave NaN out, and what takes it for a number."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import numpy as np

from shardc.frontend.text.builtins.elementwise import isnan, where
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.reductions import all_, argmax, argmin, max_, min_, prod, sum_
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dims, Operand, Scalar, Tensor
from shardc.graph.types import TensorType, has_infinities, identity, is_float, is_inexact
from shardc.ops import hlo

_Reduction = Callable[[Emitter, Tensor, Dims, bool], Tensor]


def _without(e: Emitter, x: Tensor, value: Scalar) -> Tensor:
    """x with `value` for NaN; an infinity is the farthest number there where the dtype has none."""
    if not is_inexact(x.dtype):
        return x
    if value in (inf, -inf) and is_float(x.dtype) and not has_infinities(x.dtype):
        value = float(identity("min" if value == inf else "max", x.dtype))
    return where(e, isnan(e, x), value, x)


def _ignoring(function: _Reduction, value: Scalar) -> _Reduction:
    """The reduction with `value` for each NaN."""

    def lower(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
        return function(e, _without(e, x, value), axis, keepdims)

    return lower


def _extreme(function: _Reduction, value: Scalar) -> _Reduction:
    """The same; NaN where there is nothing else."""

    def lower(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
        if not is_inexact(x.dtype):
            return function(e, x, axis, keepdims)
        found = function(e, _without(e, x, value), axis, keepdims)
        return where(e, all_(e, isnan(e, x), axis, keepdims), nan, found)

    return lower


nansum = _ignoring(sum_, 0)
nanprod = _ignoring(prod, 1)
nanmax = _extreme(max_, -inf)
nanmin = _extreme(min_, inf)


def nanmean(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The mean of what is no NaN."""
    total = Formula(e, nansum(e, e.inexact(x), axis, keepdims))
    return (total / _count(e, x, axis, keepdims)).tensor


def _count(e: Emitter, x: Tensor, axis: Dims, keepdims: bool) -> Tensor:
    """How many are no NaN."""
    counted = e.op(hlo.not_.name, isnan(e, x))
    return sum_(e, e.cast(counted, e.inexact(x).dtype), axis, keepdims)


def nanvar(e: Emitter, x: Tensor, axis: Dims = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance of what is no NaN."""
    floats = e.inexact(x)
    distance = Formula(e, floats) - nanmean(e, floats, axis, True)
    total = Formula(e, nansum(e, (distance * distance).tensor, axis, keepdims))
    count = Formula(e, _count(e, x, axis, keepdims)) - ddof
    return (total / count).where(count.compare(">", 0), nan).tensor


def nanstd(e: Emitter, x: Tensor, axis: Dims = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    return e.op(hlo.sqrt.name, nanvar(e, x, axis, ddof, keepdims))


def nanargmax(e: Emitter, x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the largest; -1 where all are NaN."""
    return _place(e, argmax(e, _without(e, x, -inf), axis, keepdims), x, axis, keepdims)


def nanargmin(e: Emitter, x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the smallest; -1 where all are NaN."""
    return _place(e, argmin(e, _without(e, x, inf), axis, keepdims), x, axis, keepdims)


def _place(e: Emitter, found: Tensor, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if not is_inexact(x.dtype):
        return found
    return where(e, all_(e, isnan(e, x), axis, keepdims), -1, found)


def nan_to_num(
    e: Emitter, x: Operand, nan: Operand = 0.0, posinf: Operand | None = None, neginf: Operand | None = None
) -> Tensor:
    """x with numbers for NaN and the infinities: by default 0 and the largest ones."""
    tensor = e.tensor(x)
    if not is_float(tensor.dtype):
        return tensor
    largest = _largest(tensor.type)
    result = where(e, isnan(e, tensor), nan, tensor)
    if not has_infinities(tensor.dtype):
        return result
    high = e.op(hlo.compare.name, *e.together(tensor, inf), comparison_direction="EQ", compare_type="FLOAT")
    low = e.op(hlo.compare.name, *e.together(tensor, -inf), comparison_direction="EQ", compare_type="FLOAT")
    result = where(e, high, largest if posinf is None else posinf, result)
    return where(e, low, -largest if neginf is None else neginf, result)


def _largest(type: TensorType) -> float:
    """The largest number of a dtype."""
    return float(np.nextafter(np.array(inf, type.numpy), np.array(0, type.numpy)))
