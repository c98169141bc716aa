"""The attributes of sdy. What they hold is read and printed by `sdy_refs.py`."""

from __future__ import annotations

from xdsl.ir import Attribute, OpaqueSyntaxAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from shardc.dialects.data_attribute import ValueAttr, data_attribute
from shardc.dialects.sdy_refs import (
    AllToAll,
    AxisRef,
    MeshRef,
    ShardingRef,
    axes_text,
    parse_all_to_all,
    parse_axes,
    parse_axis_lists,
    parse_mesh,
    parse_sharding,
    parse_shardings,
    shardings_text,
)
from shardc.dialects.stablehlo.enums import TextAttr
from shardc.ops import sdy


@data_attribute
class MeshAttr(ValueAttr[MeshRef]):
    """`#sdy.mesh<["x"=4]>`."""

    name = sdy.mesh.name

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MeshRef:
        return parse_mesh(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data))


@data_attribute
class ShardingAttr(ValueAttr[ShardingRef]):
    """`#sdy.sharding<@mesh, [{"x"}, {}]>`."""

    name = "sdy.sharding"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ShardingRef:
        return parse_sharding(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data))


@data_attribute
class ShardingPerValueAttr(ValueAttr[tuple[ShardingRef, ...]]):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{}]>]>`."""

    name = "sdy.sharding_per_value"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[ShardingRef, ...]:
        with parser.in_angle_brackets():
            return parse_shardings(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{shardings_text(self.data)}>")


@data_attribute
class ManualAxesAttr(ValueAttr[tuple[str, ...]], OpaqueSyntaxAttribute):
    """`#sdy<manual_axes{"x", "y"}>`."""

    name = "sdy.manual_axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, ...]:
        names = parser.parse_comma_separated_list(parser.Delimiter.BRACES, parser.parse_str_literal)
        return tuple(names)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(axes_text(tuple(map(AxisRef, self.data))))


@data_attribute
class AxesAttr(ValueAttr[tuple[AxisRef, ...]], OpaqueSyntaxAttribute):
    """`#sdy<axis_ref_list{"x", "y":(1)2}>`."""

    name = "sdy.axis_ref_list"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[AxisRef, ...]:
        return parse_axes(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(axes_text(self.data))


@data_attribute
class AxisListsAttr(ValueAttr[tuple[tuple[AxisRef, ...], ...]], OpaqueSyntaxAttribute):
    """`#sdy<list_of_axis_ref_lists[{"x"}, {}]>`: axes per dimension."""

    name = "sdy.list_of_axis_ref_lists"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[AxisRef, ...], ...]:
        return parse_axis_lists(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"[{', '.join(map(axes_text, self.data))}]")


@data_attribute
class AllToAllParamsAttr(ValueAttr[tuple[AllToAll, ...]], OpaqueSyntaxAttribute):
    """`#sdy<all_to_all_param_list[{"x"}: 0->1]>`: axes, and the dimensions they leave and enter."""

    name = "sdy.all_to_all_param_list"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[AllToAll, ...]:
        return tuple(
            parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_all_to_all(parser))
        )

    def print_parameter(self, printer: Printer) -> None:
        params = (f"{axes_text(axes)}: {source}->{target}" for axes, source, target in self.data)
        printer.print_string(f"[{', '.join(params)}]")


@data_attribute
class ShardingRuleAttr(TextAttr):
    """`#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {…}>`, kept as text."""

    name = "sdy.op_sharding_rule"


@data_attribute
class PropagationEdgesAttr(TextAttr):
    """`#sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [result-0]}]}]>`, kept as text."""

    name = "sdy.propagation_edges"


ATTRIBUTES: list[type[Attribute]] = [
    MeshAttr,
    ShardingAttr,
    ShardingPerValueAttr,
    ManualAxesAttr,
    AxesAttr,
    AxisListsAttr,
    AllToAllParamsAttr,
    ShardingRuleAttr,
    PropagationEdgesAttr,
]
