"""layer_norm and rms_norm."""

from __future__ import annotations

from shardc.frontend.text.builtins.reductions import axes_of, mean_over, wide
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dims, Operand, Scalar, Tensor
from shardc.ops import hlo


def layer_norm(
    e: Emitter,
    x: Tensor,
    weight: Operand | None = None,
    bias: Operand | None = None,
    axis: Dims = -1,
    eps: Scalar = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the axis; short floats are computed in f32."""
    with e.group("layer_norm"):
        floats, dims = wide(e, e.inexact(x)), axes_of(e, axis, x.rank)
        center = e.op(hlo.subtract.name, *e.together(floats, mean_over(e, floats, dims, True)))
        return _finished(e, x, _scaled(e, center, dims, eps), weight, bias)


def rms_norm(
    e: Emitter, x: Tensor, weight: Operand | None = None, axis: Dims = -1, eps: Scalar = 1e-6
) -> Tensor:
    """x / sqrt(mean(x * x) + eps) * weight over the axis; short floats are computed in f32."""
    with e.group("rms_norm"):
        floats, dims = wide(e, e.inexact(x)), axes_of(e, axis, x.rank)
        return _finished(e, x, _scaled(e, floats, dims, eps), weight, None)


def _scaled(e: Emitter, x: Tensor, dims: tuple[int, ...], eps: Scalar) -> Tensor:
    """x / sqrt(mean(x * x) + eps)"""
    power = mean_over(e, e.op(hlo.multiply.name, x, x), dims, True)
    scale = e.op(hlo.rsqrt.name, e.op(hlo.add.name, *e.together(power, eps)))
    return e.op(hlo.multiply.name, *e.together(x, scale))


def _finished(e: Emitter, x: Tensor, normed: Tensor, weight: Operand | None, bias: Operand | None) -> Tensor:
    """Times weight, plus bias, in the dtype of x."""
    if weight is not None:
        normed = e.op(hlo.multiply.name, *e.together(normed, weight, dtype=normed.dtype))
    if bias is not None:
        normed = e.op(hlo.add.name, *e.together(normed, bias, dtype=normed.dtype))
    return e.cast(normed, e.inexact(x).dtype)
