"""Elementwise operations: operands of one type; the classes of dtype each is defined for.

The classes are those of the StableHLO specification: b(ool), i (signed), u (unsigned), f(loat), c(omplex).
"""

from __future__ import annotations

from shardc.graph.types import TensorType, is_complex, is_float
from shardc.ops.untyped import Types, UntypedOp, types_text

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


def check_class(op: UntypedOp, type: TensorType, classes: str) -> None:
    """Raise unless the dtype is of one of the classes."""
    if (dtype_class(type.dtype) or classes[0]) not in classes:
        wanted = ", ".join(_CLASS_NAMES[letter] for letter in classes)
        raise op.error(f"is defined for {wanted}, got {type}")


def check_equal(op: UntypedOp, types: Types) -> TensorType:
    """Raise unless all types are the same; that type."""
    if any(type != types[0] for type in types):
        raise op.error(f"needs equal types, got {types_text(types)}")
    return types[0]


def same(arity: int, classes: str, op: UntypedOp) -> Types:
    type = check_equal(op, op.arity(arity))
    check_class(op, type, classes)
    return (type,)


def to_bool(arity: int, classes: str, op: UntypedOp) -> Types:
    return (same(arity, classes, op)[0].with_dtype("bool"),)


def magnitude(op: UntypedOp) -> Types:
    (type,) = same(1, "ifc", op)
    return (type.with_dtype(_PARTS.get(type.dtype, type.dtype)),)


def part(op: UntypedOp) -> Types:
    (type,) = same(1, "fc", op)
    return (type.with_dtype(_PARTS.get(type.dtype, type.dtype)),)


def complex_of(op: UntypedOp) -> Types:
    type = check_equal(op, op.arity(2))
    if type.dtype not in _WHOLES:
        raise op.error(f"needs f32 or f64 operands, got {type}")
    return (type.with_dtype(_WHOLES[type.dtype]),)


def comparison(op: UntypedOp) -> Types:
    direction = op.get("comparison_direction", str)
    if direction not in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        raise op.error(f"has no direction {direction}; it is EQ, NE, LT, LE, GT or GE")
    (type,) = to_bool(2, "biufc", op)
    return (type,)


def choice(op: UntypedOp) -> Types:
    pred, on_true, on_false = op.arity(3)
    type = check_equal(op, (on_true, on_false))
    if pred.dtype != "bool" or pred.shape not in ((), type.shape):
        raise op.error(f"needs a predicate bool[] or {type.with_dtype('bool')}, got {pred}")
    return (type,)


def clamped(op: UntypedOp) -> Types:
    low, type, high = op.arity(3)
    for which, bound in (("minimum", low), ("maximum", high)):
        if bound.dtype != type.dtype or bound.shape not in ((), type.shape):
            raise op.error(f"needs a {which} {type.with_shape(())} or {type}, got {bound}")
    return (type,)


def converted(op: UntypedOp) -> Types:
    operand, result = op.one(), op.stated()
    if result.shape != operand.shape:
        raise op.error(f"keeps the shape, got {operand} to {result}")
    return (result,)


def rounded(op: UntypedOp) -> Types:
    if op.integer("exponent_bits") < 1 or op.integer("mantissa_bits") < 0:
        raise op.error("needs exponent_bits of at least 1 and mantissa_bits of at least 0")
    return same(1, "f", op)


def mapped(op: UntypedOp) -> Types:
    shape = op.operands[0].shape if op.operands else ()
    for type in op.operands:
        if type.shape != shape:
            raise op.error(f"needs equal shapes, got {types_text(op.operands)}")
    dtype = op.region_results[0][0].dtype if op.region_results else op.stated().dtype
    return (TensorType(shape, dtype),)
