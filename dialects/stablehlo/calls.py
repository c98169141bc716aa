"""Computations that StableHLO only names: custom calls and composites; tokens and tuples."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)

from shardc.dialects.base import Bool, HloOp
from shardc.dialects.formats import written
from shardc.dialects.stablehlo.attributes import AliasAttr
from shardc.ops import hlo
from shardc.ops.formats import FUNCTIONAL


@written(f"custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict {FUNCTIONAL}")
@irdl_op_definition
class CustomCallOp(HloOp):
    """`stablehlo.custom_call @target(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>`."""

    name = hlo.custom_call.name
    inputs = var_operand_def()
    results_ = var_result_def()
    call_target_name = prop_def(StringAttr)
    has_side_effect = opt_prop_def(Bool)
    backend_config = opt_prop_def()
    api_version = opt_prop_def(IntegerAttr[I32])
    called_computations = opt_prop_def(ArrayAttr[Attribute])
    operand_layouts = opt_prop_def(ArrayAttr[Attribute])
    result_layouts = opt_prop_def(ArrayAttr[Attribute])
    output_operand_aliases = opt_prop_def(ArrayAttr[AliasAttr])
    options = opt_attr_def(DictionaryAttr, attr_name="mhlo.backend_config")


@written(f"$name $inputs attr-dict {FUNCTIONAL}")
@irdl_op_definition
class CompositeOp(HloOp):
    """`stablehlo.composite "my.op" %0 {decomposition = @my.op} : (tensor<4xf32>) -> tensor<4xf32>`."""

    name = hlo.composite.name
    inputs = var_operand_def()
    results_ = var_result_def()
    composite = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def(DictionaryAttr)
    decomposition = prop_def(FlatSymbolRefAttrConstr)
    version = opt_prop_def(IntegerAttr[I32])
