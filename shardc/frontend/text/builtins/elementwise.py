"""Elementwise functions that are more than one operation, or not the same for all dtypes.

The others follow from their definitions in shardc/ops: see derived.py.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi, sqrt

from shardc.diagnostics import ShardcError
from shardc.frontend.text.emitter import Emitter, dtype_of
from shardc.frontend.text.promotion import DTYPES
from shardc.frontend.text.values import Dtype, Operand, Scalar, Tensor
from shardc.graph.types import TensorType, has_infinities, is_complex, is_float, is_inexact, is_integer
from shardc.ops import OpDef, chlo, hlo

UNSIGNED = tuple(dtype for dtype in DTYPES if dtype.startswith("u"))


def numeric(e: Emitter, x: Operand) -> Tensor:
    """The operand, i32 if it is bool."""
    tensor = e.tensor(x)
    return e.cast(tensor, "i32") if tensor.dtype == "bool" else tensor


def abs_(e: Emitter, x: Operand) -> Tensor:
    tensor = e.tensor(x)
    return tensor if tensor.dtype in ("bool", *UNSIGNED) else e.op(hlo.abs_.name, tensor)


def exp2(e: Emitter, x: Operand) -> Tensor:
    """2**x as exp(x * log 2)."""
    tensor = e.inexact(x)
    return e.op(hlo.exponential.name, e.op(hlo.multiply.name, *e.together(tensor, log(2))))


def reciprocal(e: Emitter, x: Operand) -> Tensor:
    one, tensor = e.together(1.0, e.inexact(x))
    return e.op(hlo.divide.name, one, tensor)


def square(e: Emitter, x: Operand) -> Tensor:
    tensor = numeric(e, x)
    return e.op(hlo.multiply.name, tensor, tensor)


# ---- two operands


def float_together(e: Emitter, x: Operand, y: Operand) -> list[Tensor]:
    """Both operands as floats of one dtype and shape."""
    left, right = e.together(x, y)
    if is_inexact(left.dtype):
        return [left, right]
    return [e.cast(left, "f32", left.weak), e.cast(right, "f32", right.weak)]


def compare(direction: str) -> Callable[[Emitter, Operand, Operand], Tensor]:
    """A comparison; the result is bool."""

    def lower(e: Emitter, x: Operand, y: Operand) -> Tensor:
        left, right = e.together(x, y)
        return comparison(e, left, right, direction)

    return lower


def comparison(e: Emitter, left: Tensor, right: Tensor, direction: str, total: bool = False) -> Tensor:
    """Compare tensors of one type. `total` orders floats totally, -0 before 0 and NaN last."""
    if is_complex(left.dtype) and direction not in ("EQ", "NE"):
        raise no_order(e, left)
    if is_inexact(left.dtype):
        kind = "TOTALORDER" if total else "FLOAT"
    else:
        kind = "UNSIGNED" if left.dtype in ("bool", *UNSIGNED) else "SIGNED"
    return e.op(hlo.compare.name, left, right, comparison_direction=direction, compare_type=kind, weak=False)


def no_order(e: Emitter, x: Tensor) -> ShardcError:
    """An error where something needs greater and less."""
    return e.error(f"complex numbers have no order, and this is {x.type}", "abs(x) and real(x) have one")


def ordered(e: Emitter, x: Operand, y: Operand) -> list[Tensor]:
    """Both operands in their common dtype, which has an order, and shape."""
    tensors = e.together(x, y)
    if is_complex(tensors[0].dtype):
        raise no_order(e, tensors[0])
    return tensors


def truth(e: Emitter, x: Operand) -> Tensor:
    """x != 0, as bool."""
    tensor = e.tensor(x)
    if tensor.dtype == "bool":
        return tensor
    left, zero = e.together(tensor, 0)
    return comparison(e, left, zero, "NE")


def isfinite(e: Emitter, x: Operand) -> Tensor:
    """Neither infinite nor NaN; a complex number if both of its parts are so."""
    tensor = e.inexact(x)
    if not is_complex(tensor.dtype):
        return e.op(hlo.is_finite.name, tensor)
    parts = (e.op(part.name, tensor) for part in (hlo.real, hlo.imag))
    return e.op(hlo.and_.name, *(e.op(hlo.is_finite.name, part) for part in parts))


def isnan(e: Emitter, x: Operand) -> Tensor:
    tensor = e.inexact(x)
    return comparison(e, tensor, tensor, "NE")


def isinf(e: Emitter, x: Operand) -> Tensor:
    return _is_infinity(e, x, inf, hlo.abs_)


def isposinf(e: Emitter, x: Operand) -> Tensor:
    return _is_infinity(e, x, inf)


def isneginf(e: Emitter, x: Operand) -> Tensor:
    return _is_infinity(e, x, -inf)


def _is_infinity(e: Emitter, x: Operand, infinity: float, of: OpDef | None = None) -> Tensor:
    """Where x, or what an operation makes of it, is an infinity: nowhere if its dtype has none."""
    tensor = e.inexact(x)
    if is_complex(tensor.dtype) and of is None:
        raise e.error(f"{tensor.type} has no order, and so no infinity above or below", "isinf takes it")
    if is_float(tensor.dtype) and not has_infinities(tensor.dtype):
        return e.splat(False, TensorType(tensor.shape, "bool"))
    compared = tensor if of is None else e.op(of.name, tensor)
    left, right = e.together(compared, infinity)
    return comparison(e, left, right, "EQ")


def isclose(
    e: Emitter, x: Operand, y: Operand, rtol: Scalar = 1e-5, atol: Scalar = 1e-8, equal_nan: bool = False
) -> Tensor:
    """abs(x - y) <= atol + rtol * abs(y), or both the same infinity, or both NaN if `equal_nan`."""
    with e.group("isclose"):
        left, right = float_together(e, x, y)
        distance = e.op(hlo.abs_.name, e.op(hlo.subtract.name, left, right))
        allowed = e.op(hlo.add.name, *e.together(_times(e, e.op(hlo.abs_.name, right), rtol), atol))
        near = e.op(hlo.and_.name, comparison(e, distance, allowed, "LE"), isfinite(e, right))
        close = e.op(hlo.or_.name, near, comparison(e, left, right, "EQ"))
        if equal_nan:
            both = e.op(hlo.and_.name, isnan(e, left), isnan(e, right))
            close = e.op(hlo.or_.name, close, both)
        return close


# ---- three operands


def where(e: Emitter, condition: Operand, x: Operand, y: Operand) -> Tensor:
    left, right = e.together(x, y)
    choice = truth(e, condition)
    shape = e.broadcast_shape(choice.shape, left.shape)
    operands = [e.broadcast_to(operand, shape) for operand in (choice, left, right)]
    return e.op(hlo.select.name, *operands, weak=left.weak)


def clip(e: Emitter, x: Operand, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    tensor = e.tensor(x)
    with e.group("clip"):
        if min is not None:
            tensor = e.op(hlo.maximum.name, *ordered(e, min, tensor))
        if max is not None:
            tensor = e.op(hlo.minimum.name, *ordered(e, max, tensor))
    return tensor


def astype(e: Emitter, x: Operand, dtype: Dtype) -> Tensor:
    tensor = e.tensor(x)
    if dtype.name == "bool":
        return truth(e, tensor)
    return e.cast(tensor, dtype.name)


# ---- activations


def relu(e: Emitter, x: Operand) -> Tensor:
    with e.group("relu"):
        return e.op(hlo.maximum.name, *ordered(e, numeric(e, x), 0))


def silu(e: Emitter, x: Operand) -> Tensor:
    with e.group("silu"):
        tensor = e.inexact(x)
        return e.op(hlo.multiply.name, tensor, e.op(hlo.logistic.name, tensor))


def gelu(e: Emitter, x: Operand, approximate: bool = True) -> Tensor:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))), or exactly x/2 (1 + erf(x / sqrt 2))."""
    with e.group("gelu"):
        tensor = e.inexact(x)
        if approximate:
            cube = _times(e, _times(e, tensor, tensor), tensor)
            inner = e.op(hlo.add.name, tensor, _times(e, cube, 0.044715))
            bell = e.op(hlo.tanh.name, _times(e, inner, sqrt(2 / pi)))
        else:
            bell = e.op(chlo.erf.name, _times(e, tensor, sqrt(0.5)))
        half = _times(e, e.op(hlo.add.name, *e.together(bell, 1.0)), 0.5)
        return _times(e, tensor, half)


def softplus(e: Emitter, x: Operand) -> Tensor:
    """log(1 + exp(x)), without overflow: max(x, 0) + log1p(exp(-abs(x)))."""
    with e.group("softplus"):
        tensor = e.inexact(x)
        small = e.op(hlo.exponential.name, e.op(hlo.negate.name, e.op(hlo.abs_.name, tensor)))
        return e.op(
            hlo.add.name,
            e.op(hlo.maximum.name, *ordered(e, tensor, 0.0)),
            e.op(hlo.log_plus_one.name, small),
        )


def leaky_relu(e: Emitter, x: Operand, negative_slope: Operand = 0.01) -> Tensor:
    """x where it is not negative, negative_slope * x elsewhere."""
    with e.group("leaky_relu"):
        tensor = e.inexact(x)
        positive = comparison(e, *e.together(tensor, 0.0), direction="GE")
        return where(e, positive, tensor, _times(e, tensor, negative_slope))


def elu(e: Emitter, x: Operand, alpha: Operand = 1.0) -> Tensor:
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""
    with e.group("elu"):
        tensor = e.inexact(x)
        low = e.op(hlo.minimum.name, *ordered(e, tensor, 0.0))  # exp of what is not taken stays finite
        curve = _times(e, e.op(hlo.exponential_minus_one.name, low), alpha)
        return where(e, comparison(e, *e.together(tensor, 0.0), direction="GT"), tensor, curve)


def _times(e: Emitter, x: Operand, y: Operand) -> Tensor:
    return e.op(hlo.multiply.name, *e.together(x, y))


def bitwise_operands(e: Emitter, op: str, *operands: Operand) -> list[Tensor]:
    """Operands of & | ^ ~ << >>, which take integers and bools."""
    for operand in operands:
        dtype, _ = dtype_of(operand)
        if dtype != "bool" and not is_integer(dtype):
            hint = "a power is written with **: x ** 2" if op == "^" else None
            raise e.error(f"{op} takes integers or bools, not {dtype}", hint)
    return e.together(*operands)
