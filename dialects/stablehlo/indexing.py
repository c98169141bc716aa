"""Operations that address elements by computed indices."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from shardc.dialects.stablehlo.attributes import GatherAttr, ScatterAttr
from shardc.dialects.stablehlo.base import FUNCTIONAL, Bool, I64Array, Int, PureOp
from shardc.dialects.stablehlo.syntax import VariadicOperandWithAttribute


@irdl_op_definition
class DynamicSliceOp(PureOp):
    """`stablehlo.dynamic_slice %0, %i, %j, sizes = [1, 4] : (…) -> tensor<1x4xf32>`; starts are clamped."""

    name = "stablehlo.dynamic_slice"
    operand = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)
    slice_sizes = prop_def(I64Array)
    assembly_format = (
        "$operand `,` custom<VariadicOperandWithAttribute>($start_indices) `sizes` `=` $slice_sizes "
        f"attr-dict {FUNCTIONAL}"
    )
    custom_directives = (VariadicOperandWithAttribute,)


@irdl_op_definition
class DynamicUpdateSliceOp(PureOp):
    """`stablehlo.dynamic_update_slice %0, %update, %i, %j : (…) -> tensor<8x4xf32>`; starts are clamped."""

    name = "stablehlo.dynamic_update_slice"
    operand = operand_def(TensorType)
    update = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = f"operands attr-dict {FUNCTIONAL}"


@irdl_op_definition
class GatherOp(PureOp):
    """One slice of the operand for every index vector."""

    name = "stablehlo.gather"
    operand = operand_def(TensorType)
    start_indices = operand_def(TensorType)
    result = result_def(TensorType)
    dimension_numbers = prop_def(GatherAttr)
    slice_sizes = prop_def(I64Array)
    indices_are_sorted = opt_prop_def(Bool)


@irdl_op_definition
class ScatterOp(PureOp):
    """Combines updates into the operands where the indices say, by the body."""

    name = "stablehlo.scatter"
    inputs = var_operand_def(TensorType)
    scatter_indices = operand_def(TensorType)
    updates = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    scatter_dimension_numbers = prop_def(ScatterAttr)
    indices_are_sorted = opt_prop_def(Bool)
    unique_indices = opt_prop_def(Bool)
    update_computation = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)


@irdl_op_definition
class GetDimensionSizeOp(PureOp):
    """`stablehlo.get_dimension_size %0, dim = 0 : (tensor<4xf32>) -> tensor<i32>`."""

    name = "stablehlo.get_dimension_size"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    dimension = prop_def(Int)
    assembly_format = f"$operand `,` `dim` `=` $dimension attr-dict {FUNCTIONAL}"


OPERATIONS = [DynamicSliceOp, DynamicUpdateSliceOp, GatherOp, ScatterOp, GetDimensionSizeOp]
