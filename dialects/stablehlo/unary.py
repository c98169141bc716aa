"""Elementwise operations of one operand: each element of the result from the element at the same place."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def

from shardc.dialects.stablehlo.base import UnaryOp
from shardc.dialects.stablehlo.enums import ResultAccuracyAttr


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
]
