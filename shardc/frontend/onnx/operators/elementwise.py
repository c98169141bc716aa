"""Elementwise operators: maths, comparison, logic, choice. Activations are in activations.py."""

from __future__ import annotations

from functools import reduce as fold

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import abs_, add, calc, choose, compare, div
from shardc.frontend.text.builtins.elementwise import UNSIGNED, isnan
from shardc.frontend.text.values import Tensor
from shardc.graph.types import is_float
from shardc.ops import chlo, hlo
from shardc.ops.definition import OpDef


def _unary(op: OpDef) -> Lower:
    return lambda n: n.e.op(op.name, n.x(0))


def _floating(op: OpDef) -> Lower:
    """Nothing happens to integers."""

    def lower(n: Node) -> Tensor:
        x = n.x(0)
        return n.e.op(op.name, x) if is_float(x.dtype) else x

    return lower


def _absolute(n: Node) -> Tensor:
    return abs_(n.e, n.x(0))


def _sign(n: Node) -> Tensor:
    x = n.x(0)
    if x.dtype in UNSIGNED:
        return n.e.cast(compare(n.e, "NE", x, 0), x.dtype)
    return n.e.op(hlo.sign.name, x)


def _reciprocal(n: Node) -> Tensor:
    return div(n.e, 1.0, n.x(0))


def _is_nan(n: Node) -> Tensor:
    return isnan(n.e, n.x(0))


def _is_inf(n: Node) -> Tensor:
    positive, negative = bool(n.int("detect_positive", 1)), bool(n.int("detect_negative", 1))
    x = n.x(0)
    ends = [float("inf")] * positive + [float("-inf")] * negative
    if not ends:
        return n.e.splat(False, x.type.with_dtype("bool"))
    return fold(lambda a, b: n.e.op(hlo.or_.name, a, b), [compare(n.e, "EQ", x, end) for end in ends])


def _identity(n: Node) -> Tensor:
    return n.x(0)


def _binary(op: OpDef) -> Lower:
    return lambda n: calc(n.e, op, n.x(0), n.x(1))


def _comparison(direction: str) -> Lower:
    return lambda n: compare(n.e, direction, n.x(0), n.x(1))


def _variadic(op: OpDef) -> Lower:
    return lambda n: fold(lambda a, b: calc(n.e, op, a, b), n.xs())


def _mean(n: Node) -> Tensor:
    tensors = n.xs()
    total = fold(lambda a, b: add(n.e, a, b), tensors)
    return div(n.e, total, float(len(tensors)))


def _power(n: Node) -> Tensor:
    """In the dtype of the base; an exponent of another dtype is met in floats."""
    e, base, exponent = n.e, n.x(0), n.x(1)
    if base.dtype == exponent.dtype:
        return calc(e, hlo.power, base, exponent)
    if is_float(base.dtype):
        return calc(e, hlo.power, base, e.cast(exponent, base.dtype))
    if not is_float(exponent.dtype):
        return calc(e, hlo.power, base, e.cast(exponent, base.dtype))
    wide = "f64" if "64" in base.dtype + exponent.dtype else "f32"
    return e.cast(calc(e, hlo.power, e.cast(base, wide), e.cast(exponent, wide)), base.dtype)


def _mod(n: Node) -> Tensor:
    """fmod has the sign of the dividend, mod that of the divisor."""
    e, x, y = n.e, *n.e.together(n.x(0), n.x(1), dtype=n.type(0).dtype)
    rest = e.op(hlo.remainder.name, x, y)
    if n.int("fmod") or x.dtype in UNSIGNED:
        return rest
    off = e.op(hlo.xor.name, compare(e, "LT", rest, 0), compare(e, "LT", y, 0))
    away = e.op(hlo.and_.name, compare(e, "NE", rest, 0), off)
    return choose(e, away, add(e, rest, y), rest)


def _shift(n: Node) -> Tensor:
    """To the right, signed numbers keep their sign; shifts by more than the width leave nothing else."""
    e, x, count = n.e, *n.e.together(n.x(0), n.x(1))
    if n.text("direction") == "LEFT":
        return e.op(hlo.shift_left.name, x, count)
    op = hlo.shift_right_logical if x.dtype in UNSIGNED else hlo.shift_right_arithmetic
    return e.op(op.name, x, count)


def _where(n: Node) -> Tensor:
    return choose(n.e, n.x(0), n.x(1), n.x(2))


def _clip(n: Node) -> Tensor:
    e, x = n.e, n.x(0)
    low = n.attributes.get("min") if n.version < 11 else n.x(1) if n.has(1) else None
    high = n.attributes.get("max") if n.version < 11 else n.x(2) if n.has(2) else None
    if low is not None:
        x = calc(e, hlo.maximum, x, low)
    if high is not None:
        x = calc(e, hlo.minimum, x, high)
    return x


def _dropout(n: Node) -> list[Tensor]:
    """What it is outside training: x, and a mask that holds everywhere."""
    x = n.x(0)
    training = n.has(2) and bool(n.known(2, "whether it is training depends on the value of").reshape(-1)[0])
    ratio = (
        float(n.known(1, "the ratio depends on the value of").reshape(-1)[0])
        if training and n.has(1)
        else 0.5
    )
    if training and ratio:
        raise n.unsupported("in training mode, which draws random numbers")
    return [x, n.e.splat(True, x.type.with_dtype("bool"))] if n.wants(1) else [x]


UNARY: dict[str, OpDef] = {
    "Acos": chlo.acos,
    "Acosh": chlo.acosh,
    "Asin": chlo.asin,
    "Asinh": chlo.asinh,
    "Atan": chlo.atan,
    "Atanh": chlo.atanh,
    "BitwiseNot": hlo.not_,
    "Cos": hlo.cosine,
    "Cosh": chlo.cosh,
    "Erf": chlo.erf,
    "Exp": hlo.exponential,
    "Log": hlo.log,
    "Neg": hlo.negate,
    "Not": hlo.not_,
    "Sigmoid": hlo.logistic,
    "Sin": hlo.sine,
    "Sinh": chlo.sinh,
    "Sqrt": hlo.sqrt,
    "Tan": hlo.tan,
    "Tanh": hlo.tanh,
}

OPERATORS: dict[str, Lower] = {
    **{name: _unary(op) for name, op in UNARY.items()},
    "Abs": _absolute,
    "Ceil": _floating(hlo.ceil),
    "Floor": _floating(hlo.floor),
    "Round": _floating(hlo.round_nearest_even),
    "Sign": _sign,
    "Reciprocal": _reciprocal,
    "IsNaN": _is_nan,
    "IsInf": _is_inf,
    "Identity": _identity,
    "Dropout": _dropout,
    "Add": _binary(hlo.add),
    "Sub": _binary(hlo.subtract),
    "Mul": _binary(hlo.multiply),
    "Div": _binary(hlo.divide),
    "And": _binary(hlo.and_),
    "Or": _binary(hlo.or_),
    "Xor": _binary(hlo.xor),
    "BitwiseAnd": _binary(hlo.and_),
    "BitwiseOr": _binary(hlo.or_),
    "BitwiseXor": _binary(hlo.xor),
    "BitShift": _shift,
    "Equal": _comparison("EQ"),
    "Less": _comparison("LT"),
    "LessOrEqual": _comparison("LE"),
    "Greater": _comparison("GT"),
    "GreaterOrEqual": _comparison("GE"),
    "Max": _variadic(hlo.maximum),
    "Min": _variadic(hlo.minimum),
    "Sum": _variadic(hlo.add),
    "Mean": _mean,
    "Pow": _power,
    "Mod": _mod,
    "Where": _where,
    "Clip": _clip,
}
