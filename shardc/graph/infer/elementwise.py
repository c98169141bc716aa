"""Elementwise operations: operands of one type; the classes of dtype each is defined for.

The classes are those of the StableHLO specification: b(ool), i (signed), u (unsigned), f(loat), c(omplex).
"""

from __future__ import annotations

from functools import partial

from shardc.graph.infer.call import Call, Rule, Types, types_text
from shardc.graph.types import TensorType, is_complex, is_float

_CLASS_NAMES = {
    "b": "bool",
    "i": "signed integers",
    "u": "unsigned integers",
    "f": "floats",
    "c": "complex numbers",
}
_PARTS = {"c64": "f32", "c128": "f64"}
_WHOLES = {"f32": "c64", "f64": "c128"}


def dtype_class(dtype: str) -> str | None:
    """The class letter of a dtype; None for element types that are not in DTYPES."""
    if is_float(dtype):
        return "f"
    if is_complex(dtype):
        return "c"
    if dtype == "bool":
        return "b"
    return dtype[0] if dtype[0] in "iu" and dtype[1:].isdigit() else None


def check_class(call: Call, type: TensorType, classes: str) -> None:
    """Raise unless the dtype is of one of the classes."""
    if (dtype_class(type.dtype) or classes[0]) not in classes:
        wanted = ", ".join(_CLASS_NAMES[letter] for letter in classes)
        raise call.error(f"is defined for {wanted}, got {type}")


def check_equal(call: Call, types: Types) -> TensorType:
    """Raise unless all types are the same; that type."""
    if any(type != types[0] for type in types):
        raise call.error(f"needs equal types, got {types_text(types)}")
    return types[0]


def _same(arity: int, classes: str, call: Call) -> Types:
    type = check_equal(call, call.arity(arity))
    check_class(call, type, classes)
    return (type,)


def _to_bool(arity: int, classes: str, call: Call) -> Types:
    return (_same(arity, classes, call)[0].with_dtype("bool"),)


def _abs(call: Call) -> Types:
    (type,) = _same(1, "ifc", call)
    return (type.with_dtype(_PARTS.get(type.dtype, type.dtype)),)


def _part(call: Call) -> Types:
    (type,) = _same(1, "fc", call)
    return (type.with_dtype(_PARTS.get(type.dtype, type.dtype)),)


def _complex(call: Call) -> Types:
    type = check_equal(call, call.arity(2))
    if type.dtype not in _WHOLES:
        raise call.error(f"needs f32 or f64 operands, got {type}")
    return (type.with_dtype(_WHOLES[type.dtype]),)


def _compare(call: Call) -> Types:
    direction = call.get("comparison_direction", str)
    if direction not in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        raise call.error(f"has no direction {direction}; it is EQ, NE, LT, LE, GT or GE")
    (type,) = _to_bool(2, "biufc", call)
    return (type,)


def _select(call: Call) -> Types:
    pred, on_true, on_false = call.arity(3)
    type = check_equal(call, (on_true, on_false))
    if pred.dtype != "bool" or pred.shape not in ((), type.shape):
        raise call.error(f"needs a predicate bool[] or {type.with_dtype('bool')}, got {pred}")
    return (type,)


def _clamp(call: Call) -> Types:
    low, type, high = call.arity(3)
    for which, bound in (("minimum", low), ("maximum", high)):
        if bound.dtype != type.dtype or bound.shape not in ((), type.shape):
            raise call.error(f"needs a {which} {type.with_shape(())} or {type}, got {bound}")
    return (type,)


def _convert(call: Call) -> Types:
    operand, result = call.one(), call.stated()
    if result.shape != operand.shape:
        raise call.error(f"keeps the shape, got {operand} to {result}")
    return (result,)


def _reduce_precision(call: Call) -> Types:
    if call.integer("exponent_bits") < 1 or call.integer("mantissa_bits") < 0:
        raise call.error("needs exponent_bits of at least 1 and mantissa_bits of at least 0")
    return _same(1, "f", call)


def _map(call: Call) -> Types:
    shape = call.operands[0].shape if call.operands else ()
    for type in call.operands:
        if type.shape != shape:
            raise call.error(f"needs equal shapes, got {types_text(call.operands)}")
    dtype = call.region_results[0][0].dtype if call.region_results else call.stated().dtype
    return (TensorType(shape, dtype),)


def _rules(arity: int, classes: str, *names: str) -> dict[str, Rule]:
    return {name: partial(_same, arity, classes) for name in names}


_STABLEHLO_FLOAT = (
    "cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh"
)
_CHLO_FLOAT = "acos acosh asin asinh atan atanh cosh sinh square tan"
_CHLO_REAL = "bessel_i1e digamma erf erf_inv erfc lgamma"

ELEMENTWISE: dict[str, Rule] = {
    **_rules(1, "fc", *(f"stablehlo.{name}" for name in _STABLEHLO_FLOAT.split())),
    **_rules(1, "fc", *(f"chlo.{name}" for name in _CHLO_FLOAT.split())),
    **_rules(1, "f", *(f"chlo.{name}" for name in _CHLO_REAL.split())),
    **_rules(1, "f", "stablehlo.ceil", "stablehlo.floor", "stablehlo.cbrt"),
    **_rules(1, "f", "stablehlo.round_nearest_afz", "stablehlo.round_nearest_even"),
    **_rules(1, "ifc", "stablehlo.sign"),
    **_rules(1, "iufc", "stablehlo.negate"),
    **_rules(1, "iu", "stablehlo.count_leading_zeros", "stablehlo.popcnt"),
    **_rules(1, "biu", "stablehlo.not"),
    **_rules(1, "ifc", "chlo.conj"),
    **_rules(2, "biufc", "stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum"),
    **_rules(2, "iufc", "stablehlo.subtract", "stablehlo.divide", "stablehlo.remainder", "stablehlo.power"),
    **_rules(2, "biu", "stablehlo.and", "stablehlo.or", "stablehlo.xor"),
    **_rules(2, "iu", "stablehlo.shift_left", "stablehlo.shift_right_arithmetic"),
    **_rules(2, "iu", "stablehlo.shift_right_logical"),
    **_rules(2, "fc", "stablehlo.atan2"),
    **_rules(2, "f", "chlo.next_after", "chlo.polygamma", "chlo.zeta"),
    "stablehlo.is_finite": partial(_to_bool, 1, "f"),
    "chlo.is_inf": partial(_to_bool, 1, "f"),
    "chlo.is_neg_inf": partial(_to_bool, 1, "f"),
    "chlo.is_pos_inf": partial(_to_bool, 1, "f"),
    "stablehlo.abs": _abs,
    "stablehlo.real": _part,
    "stablehlo.imag": _part,
    "stablehlo.complex": _complex,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": _convert,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.map": _map,
}
