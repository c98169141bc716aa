"""Elementwise operations: each element of the result from the elements at the same place."""

from __future__ import annotations

from xdsl.dialects.builtin import I32, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from shardc.dialects.stablehlo.attributes import (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    ResultAccuracyAttr,
)
from shardc.dialects.stablehlo.base import FUNCTIONAL, SAME_TYPE, BinaryOp, PureOp, UnaryOp
from shardc.dialects.stablehlo.syntax import (
    ComplexOpType,
    ExponentMantissa,
    SameOperandsAndResultType,
    SelectOpType,
)

# Unary


@irdl_op_definition
class AbsOp(UnaryOp):
    """|x|: the magnitude; real for complex operands."""

    name = "stablehlo.abs"


@irdl_op_definition
class CbrtOp(UnaryOp):
    """The cube root."""

    name = "stablehlo.cbrt"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class CeilOp(UnaryOp):
    """The least integer not below x."""

    name = "stablehlo.ceil"


@irdl_op_definition
class CosineOp(UnaryOp):
    """cos x."""

    name = "stablehlo.cosine"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class ClzOp(UnaryOp):
    """The number of zero bits before the first one."""

    name = "stablehlo.count_leading_zeros"


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the x."""

    name = "stablehlo.exponential"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class Expm1Op(UnaryOp):
    """e to the x, minus 1, exact near 0."""

    name = "stablehlo.exponential_minus_one"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class FloorOp(UnaryOp):
    """The greatest integer not above x."""

    name = "stablehlo.floor"


@irdl_op_definition
class ImagOp(UnaryOp):
    """The imaginary part."""

    name = "stablehlo.imag"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm."""

    name = "stablehlo.log"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class Log1pOp(UnaryOp):
    """log(1 + x), exact near 0."""

    name = "stablehlo.log_plus_one"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class LogisticOp(UnaryOp):
    """1 / (1 + e to the -x)."""

    name = "stablehlo.logistic"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class NegateOp(UnaryOp):
    """-x."""

    name = "stablehlo.negate"


@irdl_op_definition
class NotOp(UnaryOp):
    """Every bit, or the truth value, inverted."""

    name = "stablehlo.not"


@irdl_op_definition
class PopulationCountOp(UnaryOp):
    """The number of bits that are one."""

    name = "stablehlo.popcnt"


@irdl_op_definition
class RealOp(UnaryOp):
    """The real part."""

    name = "stablehlo.real"


@irdl_op_definition
class RoundNearestAfzOp(UnaryOp):
    """The nearest integer, ties away from zero."""

    name = "stablehlo.round_nearest_afz"


@irdl_op_definition
class RoundNearestEvenOp(UnaryOp):
    """The nearest integer, ties to even."""

    name = "stablehlo.round_nearest_even"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt x."""

    name = "stablehlo.rsqrt"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; x / |x| for complex operands."""

    name = "stablehlo.sign"


@irdl_op_definition
class SineOp(UnaryOp):
    """sin x."""

    name = "stablehlo.sine"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root."""

    name = "stablehlo.sqrt"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class TanOp(UnaryOp):
    """tan x."""

    name = "stablehlo.tan"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class TanhOp(UnaryOp):
    """tanh x."""

    name = "stablehlo.tanh"
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


# Binary


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


# Others


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
    AbsOp,
    CbrtOp,
    CeilOp,
    CosineOp,
    ClzOp,
    ExpOp,
    Expm1Op,
    FloorOp,
    ImagOp,
    LogOp,
    Log1pOp,
    LogisticOp,
    NegateOp,
    NotOp,
    PopulationCountOp,
    RealOp,
    RoundNearestAfzOp,
    RoundNearestEvenOp,
    RsqrtOp,
    SignOp,
    SineOp,
    SqrtOp,
    TanOp,
    TanhOp,
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
