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
    operand_def,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from shardc.dialects.stablehlo.attributes import AliasAttr, ChannelAttr
from shardc.dialects.stablehlo.base import FUNCTIONAL, Bool, HloOp, PureOp
from shardc.dialects.stablehlo.syntax import CustomCallTarget
from shardc.dialects.stablehlo.type_syntax import TokenTypes, TupleOpType


@irdl_op_definition
class CustomCallOp(HloOp):
    """`stablehlo.custom_call @target(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>`."""

    name = "stablehlo.custom_call"
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
    assembly_format = f"custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict {FUNCTIONAL}"
    custom_directives = (CustomCallTarget,)


@irdl_op_definition
class CompositeOp(HloOp):
    """`stablehlo.composite "my.op" %0 {decomposition = @my.op} : (tensor<4xf32>) -> tensor<4xf32>`."""

    name = "stablehlo.composite"
    inputs = var_operand_def()
    results_ = var_result_def()
    composite = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def(DictionaryAttr)
    decomposition = prop_def(FlatSymbolRefAttrConstr)
    version = opt_prop_def(IntegerAttr[I32])
    assembly_format = f"$name $inputs attr-dict {FUNCTIONAL}"


@irdl_op_definition
class CreateTokenOp(PureOp):
    """`stablehlo.create_token : !stablehlo.token`."""

    name = "stablehlo.create_token"
    output = result_def()
    assembly_format = "attr-dict `:` type(results)"


@irdl_op_definition
class AfterAllOp(PureOp):
    """`stablehlo.after_all %0, %1 : !stablehlo.token`: after all of these tokens."""

    name = "stablehlo.after_all"
    inputs = var_operand_def()
    result = result_def()
    assembly_format = "$inputs attr-dict `:` custom<TokenTypes>(type($inputs), type($result))"
    custom_directives = (TokenTypes,)


@irdl_op_definition
class TupleOp(PureOp):
    """`stablehlo.tuple %0, %1 : tuple<tensor<4xf32>, tensor<f32>>`."""

    name = "stablehlo.tuple"
    val = var_operand_def()
    result = result_def()
    assembly_format = "$val attr-dict `:` custom<TupleOpType>(type($val), type($result))"
    custom_directives = (TupleOpType,)


@irdl_op_definition
class GetTupleElementOp(PureOp):
    """`stablehlo.get_tuple_element %0[0] : (tuple<tensor<4xf32>>) -> tensor<4xf32>`."""

    name = "stablehlo.get_tuple_element"
    operand = operand_def()
    result = result_def()
    index = prop_def(IntegerAttr[I32])
    assembly_format = f"$operand `[` $index `]` attr-dict {FUNCTIONAL}"


@irdl_op_definition
class SendOp(HloOp):
    """Sends tensors over a channel."""

    name = "stablehlo.send"
    inputs = var_operand_def()
    result = result_def()
    channel_handle = prop_def(ChannelAttr)
    is_host_transfer = opt_prop_def(Bool)
    source_target_pairs = opt_prop_def()


@irdl_op_definition
class RecvOp(HloOp):
    """Receives tensors over a channel."""

    name = "stablehlo.recv"
    token = operand_def()
    results_ = var_result_def()
    channel_handle = prop_def(ChannelAttr)
    is_host_transfer = opt_prop_def(Bool)
    source_target_pairs = opt_prop_def()


OPERATIONS = [
    CustomCallOp,
    CompositeOp,
    CreateTokenOp,
    AfterAllOp,
    TupleOp,
    GetTupleElementOp,
    SendOp,
    RecvOp,
]
