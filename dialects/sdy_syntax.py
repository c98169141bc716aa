"""What sdy's pretty syntax has and xDSL's declarative formats have no word for, as custom directives."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, i32
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from shardc.dialects.attribute_kinds import DIRECTIONS
from shardc.layout import KINDS


class SameType(CustomDirective):
    """`tensor<4xf32>`, once for the operand and the result."""

    input: TypeDirective
    result: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type = parser.parse_type()
        self.input.set(state, [type])
        self.result.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_attribute(self.result.get(op)[0])


class Direction(CustomDirective):
    """`FORWARD`, stored as a number."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        word = parser.parse_identifier()
        if word not in DIRECTIONS[:-1]:
            parser.raise_error(f"{word} is no direction; it is one of {', '.join(DIRECTIONS[:-1])}")
        self.value.set(state, IntegerAttr(DIRECTIONS.index(word), i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        printer.print_string(DIRECTIONS[cast("IntegerAttr[I32]", self.value.get(op)).value.data])
        state.should_emit_space = True
        state.last_was_punctuation = False


class Reduction(CustomDirective):
    """`max`, or nothing: how partial results combine."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        word = parser.parse_optional_identifier()
        if word is None:
            return
        if word not in KINDS:
            parser.raise_error(f"{word} is no kind of reduction; it is one of {', '.join(KINDS)}")
        self.value.set(state, StringAttr(word))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        kind = self.value.get(op)
        if isinstance(kind, StringAttr):
            state.print_whitespace(printer)
            printer.print_string(kind.data)
            state.should_emit_space = True
            state.last_was_punctuation = False
