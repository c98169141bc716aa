"""The chlo dialect: operations that JAX keeps whole although StableHLO could spell them out."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from shardc.dialects.stablehlo.base import Int, PureOp
from shardc.dialects.stablehlo.enums import EnumAttr, TextAttr


@irdl_attr_definition
class RaggedDotAttr(TextAttr):
    """Which dimensions of ragged_dot's operands go together, kept as text."""

    name = "chlo.ragged_dot"


@irdl_attr_definition
class PrecisionAttr(EnumAttr):
    """How exactly a product is computed."""

    name = "chlo.precision"
    cases: ClassVar = ("DEFAULT", "HIGH", "HIGHEST")


class ChloUnaryOp(PureOp, ABC):
    """`chlo.erf %0 : tensor<4xf32> -> tensor<4xf32>`."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"


class ChloBinaryOp(PureOp, ABC):
    """`chlo.zeta %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>`."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"


@irdl_op_definition
class AcosOp(ChloUnaryOp):
    """The angle whose cosine is x."""

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(ChloUnaryOp):
    """The inverse of cosh."""

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(ChloUnaryOp):
    """The angle whose sine is x."""

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(ChloUnaryOp):
    """The inverse of sinh."""

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(ChloUnaryOp):
    """The angle whose tangent is x."""

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(ChloUnaryOp):
    """The inverse of tanh."""

    name = "chlo.atanh"


@irdl_op_definition
class BesselI1eOp(ChloUnaryOp):
    """The scaled modified Bessel function of order 1."""

    name = "chlo.bessel_i1e"


@irdl_op_definition
class ConjOp(ChloUnaryOp):
    """The complex conjugate."""

    name = "chlo.conj"


@irdl_op_definition
class CoshOp(ChloUnaryOp):
    """The hyperbolic cosine."""

    name = "chlo.cosh"


@irdl_op_definition
class DigammaOp(ChloUnaryOp):
    """The derivative of lgamma."""

    name = "chlo.digamma"


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    """The error function."""

    name = "chlo.erf"


@irdl_op_definition
class ErfInvOp(ChloUnaryOp):
    """The inverse of erf."""

    name = "chlo.erf_inv"


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    """1 - erf x, exact for large x."""

    name = "chlo.erfc"


@irdl_op_definition
class IsInfOp(ChloUnaryOp):
    """Whether x is infinite."""

    name = "chlo.is_inf"


@irdl_op_definition
class IsNegInfOp(ChloUnaryOp):
    """Whether x is -inf."""

    name = "chlo.is_neg_inf"


@irdl_op_definition
class IsPosInfOp(ChloUnaryOp):
    """Whether x is +inf."""

    name = "chlo.is_pos_inf"


@irdl_op_definition
class LgammaOp(ChloUnaryOp):
    """The logarithm of the gamma function's magnitude."""

    name = "chlo.lgamma"


@irdl_op_definition
class SinhOp(ChloUnaryOp):
    """The hyperbolic sine."""

    name = "chlo.sinh"


@irdl_op_definition
class SquareOp(ChloUnaryOp):
    """x * x."""

    name = "chlo.square"


@irdl_op_definition
class TanOp(ChloUnaryOp):
    """The tangent."""

    name = "chlo.tan"


@irdl_op_definition
class NextAfterOp(ChloBinaryOp):
    """The next float after x towards y."""

    name = "chlo.next_after"


@irdl_op_definition
class PolygammaOp(ChloBinaryOp):
    """The x-th derivative of digamma at y."""

    name = "chlo.polygamma"


@irdl_op_definition
class ZetaOp(ChloBinaryOp):
    """The Hurwitz zeta function."""

    name = "chlo.zeta"


@irdl_op_definition
class TopKOp(PureOp):
    """The k greatest of the last dimension, and where they are.

    %values, %indices = chlo.top_k(%0, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
    """

    name = "chlo.top_k"
    operand = operand_def(TensorType)
    values = result_def(TensorType)
    indices = result_def(TensorType)
    k = prop_def(Int)
    assembly_format = (
        "`(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->` "
        "`(` type($values) `,` type($indices) `)`"
    )


@irdl_op_definition
class RaggedDotOp(PureOp):
    """A product whose groups of rows have their own right operand."""

    name = "chlo.ragged_dot"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    group_sizes = operand_def(TensorType)
    result = result_def(TensorType)
    ragged_dot_dimension_numbers = prop_def(RaggedDotAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])


CHLO = Dialect(
    "chlo",
    [
        AcosOp,
        AcoshOp,
        AsinOp,
        AsinhOp,
        AtanOp,
        AtanhOp,
        BesselI1eOp,
        ConjOp,
        CoshOp,
        DigammaOp,
        ErfOp,
        ErfInvOp,
        ErfcOp,
        IsInfOp,
        IsNegInfOp,
        IsPosInfOp,
        LgammaOp,
        SinhOp,
        SquareOp,
        TanOp,
        NextAfterOp,
        PolygammaOp,
        ZetaOp,
        TopKOp,
        RaggedDotOp,
    ],
    [RaggedDotAttr, PrecisionAttr],
)
