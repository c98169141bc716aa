"""Elementwise operations of several operands, and those that change the dtype."""

from __future__ import annotations

from xdsl.dialects.builtin import I32, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from shardc.dialects.stablehlo.base import FUNCTIONAL, SAME_TYPE, BinaryOp, PureOp, UnaryOp
from shardc.dialects.stablehlo.enums import ComparisonDirectionAttr, ComparisonTypeAttr
from shardc.dialects.stablehlo.syntax import ExponentMantissa
from shardc.dialects.stablehlo.type_syntax import ComplexOpType, SameOperandsAndResultType, SelectOpType


@irdl_op_definition
class AddOp(BinaryOp):
    """x + y; `or` for truth values."""

    name = "stablehlo.add"


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise, or of truth values."""

    name = "stablehlo.and"


@irdl_op_definition
class Atan2Op(BinaryOp):
    """The angle of the point (y, x)."""

    name = "stablehlo.atan2"


@irdl_op_definition
class DivideOp(BinaryOp):
    """x / y; integers are truncated towards zero."""

    name = "stablehlo.divide"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater; NaN wins."""

    name = "stablehlo.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The lesser; NaN wins."""

    name = "stablehlo.minimum"


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """x * y; `and` for truth values."""

    name = "stablehlo.multiply"


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise, or of truth values."""

    name = "stablehlo.or"


@irdl_op_definition
class PowerOp(BinaryOp):
    """x to the y."""

    name = "stablehlo.power"


@irdl_op_definition
class RemainderOp(BinaryOp):
    """What division leaves; it has the sign of x."""

    name = "stablehlo.remainder"


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """x << y."""

    name = "stablehlo.shift_left"


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """x >> y, the sign kept."""

    name = "stablehlo.shift_right_arithmetic"


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """x >> y, zeros from the left."""

    name = "stablehlo.shift_right_logical"


@irdl_op_definition
class SubtractOp(BinaryOp):
    """x - y."""

    name = "stablehlo.subtract"


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise, or of truth values."""

    name = "stablehlo.xor"


@irdl_op_definition
class ConvertOp(UnaryOp):
    """`stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xi32>`: another dtype, floats truncated."""

    name = "stablehlo.convert"


@irdl_op_definition
class IsFiniteOp(PureOp):
    """`stablehlo.is_finite %0 : (tensor<4xf32>) -> tensor<4xi1>`: neither infinite nor NaN."""

    name = "stablehlo.is_finite"
    x = operand_def(TensorType)
    y = result_def(TensorType)
    assembly_format = f"$x attr-dict {FUNCTIONAL}"


@irdl_op_definition
class CompareOp(PureOp):
    """`stablehlo.compare LT, %0, %1, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>`."""

    name = "stablehlo.compare"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)
    assembly_format = f"$comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict {FUNCTIONAL}"


@irdl_op_definition
class SelectOp(PureOp):
    """`stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>`: a where p holds, else b."""

    name = "stablehlo.select"
    pred = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "operands attr-dict `:` custom<SelectOpType>(type(operands), type(results))"
    custom_directives = (SelectOpType,)


@irdl_op_definition
class ClampOp(PureOp):
    """`stablehlo.clamp %low, %x, %high : tensor<4xf32>`: x, but at least low and at most high."""

    name = "stablehlo.clamp"
    min = operand_def(TensorType)
    operand = operand_def(TensorType)
    max = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = f"$min `,` $operand `,` $max attr-dict {SAME_TYPE}"
    custom_directives = (SameOperandsAndResultType,)


@irdl_op_definition
class ComplexOp(PureOp):
    """`stablehlo.complex %re, %im : tensor<4xcomplex<f32>>`."""

    name = "stablehlo.complex"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "operands attr-dict `:` custom<ComplexOpType>(type(operands), type(results))"
    custom_directives = (ComplexOpType,)


@irdl_op_definition
class ReducePrecisionOp(PureOp):
    """`stablehlo.reduce_precision %0, format = e5m10 : tensor<4xf32>`: rounded to fewer bits."""

    name = "stablehlo.reduce_precision"
    operand = operand_def(TensorType)
    output = result_def(TensorType)
    exponent_bits = prop_def(IntegerAttr[I32])
    mantissa_bits = prop_def(IntegerAttr[I32])
    assembly_format = (
        "$operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) "
        f"attr-dict {SAME_TYPE}"
    )
    custom_directives = (ExponentMantissa, SameOperandsAndResultType)


OPERATIONS = [
    AddOp,
    AndOp,
    Atan2Op,
    DivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    OrOp,
    PowerOp,
    RemainderOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SubtractOp,
    XorOp,
    ConvertOp,
    IsFiniteOp,
    CompareOp,
    SelectOp,
    ClampOp,
    ComplexOp,
    ReducePrecisionOp,
]
