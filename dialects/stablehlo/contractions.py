"""Products that sum over dimensions: dot_general, dot, convolution."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from shardc.dialects.dense import DenseAttr
from shardc.dialects.stablehlo.attributes import ConvAttr, DotAttr
from shardc.dialects.stablehlo.base import FUNCTIONAL, BoolArray, I64Array, Int, PureOp
from shardc.dialects.stablehlo.enums import DotAlgorithmAttr, PrecisionAttr
from shardc.dialects.stablehlo.syntax import (
    ConvolutionDimensions,
    DotDimensionNumbers,
    PrecisionConfig,
    PrecisionConfigAndAlgorithm,
    WindowAttributes,
)


@irdl_op_definition
class DotGeneralOp(PureOp):
    """A product summed over the contracting dimensions, for every index of the batching ones.

    %2 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    """

    name = "stablehlo.dot_general"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    dot_dimension_numbers = prop_def(DotAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    algorithm = opt_prop_def(DotAlgorithmAttr)
    assembly_format = (
        "$lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) "
        f"custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) attr-dict {FUNCTIONAL}"
    )
    custom_directives = (DotDimensionNumbers, PrecisionConfigAndAlgorithm)


@irdl_op_definition
class DotOp(PureOp):
    """The product of vectors or matrices.

    %2 = stablehlo.dot %0, %1 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    """

    name = "stablehlo.dot"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    assembly_format = f"$lhs `,` $rhs custom<PrecisionConfig>($precision_config) attr-dict {FUNCTIONAL}"
    custom_directives = (PrecisionConfig,)


@irdl_op_definition
class ConvolutionOp(PureOp):
    """Windows of the first operand times the second, its kernel.

    %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
        window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
    """

    name = "stablehlo.convolution"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    window_strides = opt_prop_def(I64Array)
    padding = opt_prop_def(DenseAttr)
    lhs_dilation = opt_prop_def(I64Array)
    rhs_dilation = opt_prop_def(I64Array)
    window_reversal = opt_prop_def(BoolArray)
    dimension_numbers = prop_def(ConvAttr)
    feature_group_count = prop_def(Int)
    batch_group_count = prop_def(Int)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    assembly_format = (
        "`(` $lhs `,` $rhs `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,` "
        "`window` `=` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation, $rhs_dilation, "
        f"$window_reversal) attr-dict {FUNCTIONAL}"
    )
    custom_directives = (ConvolutionDimensions, WindowAttributes)


OPERATIONS = [DotGeneralOp, DotOp, ConvolutionOp]
