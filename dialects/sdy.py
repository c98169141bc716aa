"""The sdy dialect: meshes, shardings of values, and operations that change or state them.

All of them are in the global view: `sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]>` changes
where the blocks lie, not the tensor. What is inside `sdy.manual_computation` sees local blocks.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import (
    I64,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
)
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from shardc.dialects.bodies import parse_body, parse_operands, print_body, print_operands
from shardc.dialects.dense import DenseAttr
from shardc.dialects.formats import written
from shardc.dialects.sdy_attributes import (
    ATTRIBUTES,
    ManualAxesAttr,
    MeshAttr,
    ShardingAttr,
    ShardingPerValueAttr,
)
from shardc.dialects.sdy_collectives import ShardingOp
from shardc.dialects.sdy_refs import parse_shardings, shardings_text
from shardc.dialects.shardings import attr_of, sharding_of
from shardc.dialects.verify import verify_blocks, verify_flow, verify_types
from shardc.layout import LayoutError
from shardc.ops import sdy

__all__ = ["SDY", "attr_of", "sharding_of"]

_SAME_TYPE = "`:` custom<SameType>(type($input), type($result))"


@written("$sym_name `=` $mesh attr-dict")
@irdl_op_definition
class MeshOp(IRDLOperation):
    """`sdy.mesh @pod = <["x"=4, "y"=2]>` names the axes of the devices."""

    name = sdy.mesh.name
    sym_name = prop_def(SymbolNameConstraint())
    mesh = prop_def(MeshAttr)
    traits = traits_def(SymbolOpInterface())


@written(f"$input $sharding attr-dict {_SAME_TYPE}")
@irdl_op_definition
class ShardingConstraintOp(ShardingOp):
    """`sdy.sharding_constraint %0 <@pod, [{"x"}, {?}]> : tensor<8x4xf32>`: the user's annotation."""

    name = sdy.sharding_constraint.name
    sharding = prop_def(ShardingAttr)


@written(f"$input $sharding attr-dict {_SAME_TYPE}")
@irdl_op_definition
class ReshardOp(ShardingOp):
    """`sdy.reshard %0 <@pod, [{}, {"x"}]> : tensor<8x4xf32>` moves a value to another sharding."""

    name = sdy.reshard.name
    sharding = prop_def(ShardingAttr)


# Propagation


@written(f"$input (`sharding` `` `=` `` $sharding^)? attr-dict {_SAME_TYPE}")
@irdl_op_definition
class DataFlowEdgeOp(ShardingOp):
    """`%2 = sdy.data_flow_edge %1#0 sharding=<@pod, [{"x"}]> : …`: what flows into %1#0 is sharded alike."""

    name = sdy.data_flow_edge.name
    sharding = opt_prop_def(ShardingAttr)


@written(f"$input attr-dict {_SAME_TYPE}")
@irdl_op_definition
class FuncDataFlowEdgeOp(ShardingOp):
    """`%1 = sdy.func_data_flow_edge %0 : …`: how %0, a function's argument or a call's result, is sharded.

    The sharding is written as that of any operation, `{sdy.sharding = #sdy.sharding_per_value<…>}`.
    """

    name = sdy.func_data_flow_edge.name


@written("$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)")
@irdl_op_definition
class ShardingGroupOp(IRDLOperation):
    """`sdy.sharding_group %0 group_id=1 : …`: all values of a group are sharded alike."""

    name = sdy.sharding_group.name
    irdl_options = (ParsePropInAttrDict(),)
    input = operand_def(TensorType)
    group_id = prop_def(IntegerAttr[I64])


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """`sdy.constant dense<1.0> : tensor<4xf32>`: a constant that is not merged with others."""

    name = sdy.constant.name
    value = prop_def(DenseAttr)
    output = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        verify_types(self)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseAttr):
            parser.raise_error("expected the values of a tensor: dense<…> : tensor<…>", start, parser.pos)
        return cls.create(result_types=[value.get_type()], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)


# Bodies


class BodyOp(IRDLOperation, ABC):
    """A body, with shardings for its operands and results."""

    inputs = var_operand_def()  # tensors and tokens
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())


def _parse_shardings(parser: Parser, optional: bool = False) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {}
    for key in ("in_shardings", "out_shardings"):
        if optional and parser.parse_optional_keyword(key) is None:
            continue
        if not optional:
            parser.parse_keyword(key)
        parser.parse_punctuation("=")
        properties[key] = ShardingPerValueAttr(parse_shardings(parser))
    return properties


def _print_shardings(printer: Printer, op: BodyOp) -> None:
    for key in ("in_shardings", "out_shardings"):
        shardings = op.properties.get(key)
        if isinstance(shardings, ShardingPerValueAttr):
            printer.print_string(f" {key}={shardings_text(shardings.data)}")


@irdl_op_definition
class ManualComputationOp(BodyOp):
    """JAX's shard_map: the body runs per device over the manual axes, on local blocks.

    %1 = sdy.manual_computation(%0) in_shardings=[<@pod, [{"x"}]>] out_shardings=[<@pod, [{"x"}]>]
        manual_axes={"x"} (%arg: tensor<2xf32>) { … sdy.return %a : tensor<2xf32> } : (…) -> …
    """

    name = sdy.manual_computation.name
    in_shardings = prop_def(ShardingPerValueAttr)
    out_shardings = prop_def(ShardingPerValueAttr)
    manual_axes = prop_def(ManualAxesAttr)

    def verify_(self) -> None:
        verify_types(self)
        try:
            verify_blocks(self, frozenset(self.manual_axes.data))
        except LayoutError as error:
            raise VerifyException(str(error)) from None

    @classmethod
    def parse(cls, parser: Parser) -> ManualComputationOp:
        operands = parse_operands(parser)
        properties = _parse_shardings(parser)
        parser.parse_keyword("manual_axes")
        parser.parse_punctuation("=")
        properties["manual_axes"] = ManualAxesAttr(ManualAxesAttr.parse_parameter(parser))
        return parse_body(parser, cls, operands, properties)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self.operands)
        _print_shardings(printer, self)
        printer.print_string(" manual_axes=")
        self.manual_axes.print_parameter(printer)
        print_body(printer, self)


@irdl_op_definition
class NamedComputationOp(BodyOp):
    """`sdy.named_computation<"f">(%0) in_shardings=[…] out_shardings=[…] (%arg: …) {…} : …`.

    Either list of shardings may be missing.
    """

    name = sdy.named_computation.name
    in_shardings = opt_prop_def(ShardingPerValueAttr)
    out_shardings = opt_prop_def(ShardingPerValueAttr)
    function = prop_def(StringAttr, prop_name="name")

    def verify_(self) -> None:
        verify_flow(self)

    @classmethod
    def parse(cls, parser: Parser) -> NamedComputationOp:
        parser.parse_punctuation("<")
        name = StringAttr(_name(parser))
        parser.parse_punctuation(">")
        operands = parse_operands(parser)
        return parse_body(parser, cls, operands, {"name": name, **_parse_shardings(parser, optional=True)})

    def print(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_attribute(self.function)
        printer.print_string(">")
        print_operands(printer, self.operands)
        _print_shardings(printer, self)
        print_body(printer, self)


def _name(parser: Parser) -> str:
    """A text; characters beyond ASCII may be written as their bytes."""
    data = parser.parse_optional_bytes_literal()
    if data is None:
        return parser.parse_str_literal()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        parser.raise_error("this name is no text in UTF-8")


SDY = Dialect(
    sdy.mesh.dialect,
    [
        MeshOp,
        ShardingConstraintOp,
        ReshardOp,
        DataFlowEdgeOp,
        FuncDataFlowEdgeOp,
        ShardingGroupOp,
        ConstantOp,
        ManualComputationOp,
        NamedComputationOp,
    ],
    ATTRIBUTES,
)
