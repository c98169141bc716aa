"""Loops, branches, and what ends a body."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

from shardc.dialects.base import HloOp
from shardc.dialects.formats import written
from shardc.ops import hlo


@irdl_op_definition
class WhileOp(HloOp):
    """Repeats the body on the carried values as long as the condition holds for them.

    %1:2 = stablehlo.while(%i = %0, %x = %arg0) : tensor<i32>, tensor<4xf32>
     cond { … stablehlo.return %p : tensor<i1> } do { … stablehlo.return %j, %y : … }
    """

    name = hlo.while_.name
    inputs = var_operand_def()
    results_ = var_result_def()
    cond = region_def("single_block")
    body = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        carried = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _carried(parser))
        types: list[Attribute] = []
        position = parser.pos
        if carried:
            parser.parse_punctuation(":")
            types = list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        operands = parser.resolve_operands([value for _, value in carried], types, position)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        arguments = [arg.resolve(type) for (arg, _), type in zip(carried, types, strict=True)]
        parser.parse_keyword("cond")
        cond = parser.parse_region(arguments)
        parser.parse_keyword("do")
        return cls.create(
            operands=operands,
            result_types=types,
            attributes=attributes.data if attributes else {},
            regions=[cond, parser.parse_region(arguments)],
        )

    def print(self, printer: Printer) -> None:
        args = self.cond.block.args
        with printer.in_parens():
            printer.print_list(zip(args, self.operands, strict=True), lambda pair: _print(printer, *pair))
        if args:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" cond ")
        printer.print_region(self.cond, print_entry_block_args=False, print_empty_block=False)
        printer.print_string(" do ")
        self._share_names(printer)
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def _share_names(self, printer: Printer) -> None:
        """Both regions call the carried values alike."""
        names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
        for cond, body in zip(self.cond.block.args, self.body.block.args, strict=True):
            names[body] = names[cond]


def _carried(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


def _print(printer: Printer, arg: SSAValue, operand: SSAValue) -> None:
    printer.print_ssa_value(arg)
    printer.print_string(" = ")
    printer.print_ssa_value(operand)


class Fresh(MemoryEffect):
    """Results that are not those of an equal operation: they stand for memory of their own."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


@written("attr-dict ($operand^ `:` custom<PairwiseOpType>(type($operand), type($results_))):(`(` `)`)?")
@irdl_op_definition
class OptimizationBarrierOp(HloOp):
    """`stablehlo.optimization_barrier %0, %1 : tensor<4xf32>, tensor<2xf32>`: nothing moves across it."""

    name = hlo.optimization_barrier.name
    operand = var_operand_def()
    results_ = var_result_def()
    traits = traits_def(Fresh())
