"""Constants, and operations that only move elements."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from shardc.dialects.dense import DenseAttr
from shardc.dialects.stablehlo.base import FUNCTIONAL, SAME_TYPE, I64Array, Int, PureOp
from shardc.dialects.stablehlo.syntax import SliceRanges, VariadicOperandWithAttribute
from shardc.dialects.stablehlo.type_syntax import SameOperandsAndResultType


@irdl_op_definition
class ConstantOp(PureOp):
    """`stablehlo.constant dense<0.0> : tensor<4xf32>`."""

    name = "stablehlo.constant"
    value = prop_def(DenseAttr)
    output = result_def(TensorType)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if not isinstance(value, DenseAttr):
            parser.raise_error("a constant is written dense<...> : type")
        return cls.create(result_types=[value.get_type()], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(cast(DenseAttr, self.value))


@irdl_op_definition
class IotaOp(PureOp):
    """`stablehlo.iota dim = 0 : tensor<4x8xi32>`: 0, 1, 2, … along a dimension."""

    name = "stablehlo.iota"
    output = result_def(TensorType)
    iota_dimension = prop_def(Int)
    assembly_format = "`dim` `=` $iota_dimension attr-dict `:` type($output)"


@irdl_op_definition
class BroadcastInDimOp(PureOp):
    """`stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>`.

    Dimension i of the operand is dimension dims[i] of the result; size 1 is repeated, other dimensions new.
    """

    name = "stablehlo.broadcast_in_dim"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    broadcast_dimensions = prop_def(I64Array)
    assembly_format = f"$operand `,` `dims` `=` $broadcast_dimensions attr-dict {FUNCTIONAL}"


@irdl_op_definition
class ReshapeOp(PureOp):
    """`stablehlo.reshape %0 : (tensor<4x8xf32>) -> tensor<32xf32>`: row-major order kept."""

    name = "stablehlo.reshape"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = f"operands attr-dict {FUNCTIONAL}"


@irdl_op_definition
class BitcastConvertOp(PureOp):
    """`stablehlo.bitcast_convert %0 : (tensor<4xf32>) -> tensor<4xi32>`: the same bits."""

    name = "stablehlo.bitcast_convert"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = f"operands attr-dict {FUNCTIONAL}"


@irdl_op_definition
class TransposeOp(PureOp):
    """`stablehlo.transpose %0, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>`."""

    name = "stablehlo.transpose"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    permutation = prop_def(I64Array)
    assembly_format = f"$operand `,` `dims` `=` $permutation attr-dict {FUNCTIONAL}"


@irdl_op_definition
class SliceOp(PureOp):
    """`stablehlo.slice %0 [1:3, 0:8:2] : (tensor<4x8xf32>) -> tensor<2x4xf32>`."""

    name = "stablehlo.slice"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    start_indices = prop_def(I64Array)
    limit_indices = prop_def(I64Array)
    strides = prop_def(I64Array)
    assembly_format = (
        f"$operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict {FUNCTIONAL}"
    )
    custom_directives = (SliceRanges,)


@irdl_op_definition
class ConcatenateOp(PureOp):
    """`stablehlo.concatenate %0, %1, dim = 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>`."""

    name = "stablehlo.concatenate"
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    dimension = prop_def(Int)
    custom_directives = (VariadicOperandWithAttribute,)
    assembly_format = (
        f"custom<VariadicOperandWithAttribute>($inputs) `dim` `=` $dimension attr-dict {FUNCTIONAL}"
    )


@irdl_op_definition
class PadOp(PureOp):
    """`stablehlo.pad %0, %v, low = [1], high = [2], interior = [0] : (…) -> tensor<7xf32>`."""

    name = "stablehlo.pad"
    operand = operand_def(TensorType)
    padding_value = operand_def(TensorType)
    result = result_def(TensorType)
    edge_padding_low = prop_def(I64Array)
    edge_padding_high = prop_def(I64Array)
    interior_padding = prop_def(I64Array)
    assembly_format = (
        "$operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,` "
        f"`interior` `=` $interior_padding attr-dict {FUNCTIONAL}"
    )


@irdl_op_definition
class ReverseOp(PureOp):
    """`stablehlo.reverse %0, dims = [0] : tensor<4xf32>`."""

    name = "stablehlo.reverse"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    dimensions = prop_def(I64Array)
    assembly_format = f"$operand `,` `dims` `=` $dimensions attr-dict {SAME_TYPE}"
    custom_directives = (SameOperandsAndResultType,)


OPERATIONS = [
    ConstantOp,
    IotaOp,
    BroadcastInDimOp,
    ReshapeOp,
    BitcastConvertOp,
    TransposeOp,
    SliceOp,
    ConcatenateOp,
    PadOp,
    ReverseOp,
]
