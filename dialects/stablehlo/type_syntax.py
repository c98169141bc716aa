"""The types of StableHLO's pretty syntax that xDSL's declarative formats have no word for.

Each is a custom directive of the same name as in StableHLO's own definition of its formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    TensorType,
    TupleType,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
)
from xdsl.parser import Parser
from xdsl.printer import Printer


def _functional(parser: Parser, operands: TypeDirective, results: TypeDirective, state: ParsingState) -> bool:
    """Read `(T, U) -> V` if a parenthesis opens one."""
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if types is None:
        return False
    parser.parse_punctuation("->")
    operands.set(state, types)
    ends = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    results.set(state, [parser.parse_type()] if ends is None else ends)
    return True


def _operand_count(state: ParsingState) -> int:
    return sum(len(operands) for operands in state.operands if operands is not None)


def _print_functional(printer: Printer, operands: Sequence[Attribute], results: Sequence[Attribute]) -> None:
    printer.print_function_type(operands, results)


class SameOperandsAndResultType(CustomDirective):
    """`tensor<4xf32>` if all types are equal, else `(tensor<4xf32>) -> tensor<4xi1>`."""

    operands: TypeDirective
    results: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if not _functional(parser, self.operands, self.results, state):
            type = parser.parse_type()
            self.operands.set(state, [type] * _operand_count(state))
            self.results.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        operands, results = self.operands.get(op), self.results.get(op)
        state.print_whitespace(printer)
        if all(type == results[0] for type in operands):
            printer.print_attribute(results[0])
        else:
            _print_functional(printer, operands, results)


class SelectOpType(CustomDirective):
    """`tensor<4xi1>, tensor<4xf32>`: the predicate's type and that of everything else."""

    operands: TypeDirective
    results: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if not _functional(parser, self.operands, self.results, state):
            predicate = parser.parse_type()
            parser.parse_punctuation(",")
            type = parser.parse_type()
            self.operands.set(state, [predicate, type, type])
            self.results.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        operands, results = self.operands.get(op), self.results.get(op)
        state.print_whitespace(printer)
        if operands[1] == operands[2] == results[0]:
            printer.print_list([operands[0], results[0]], printer.print_attribute)
        else:
            _print_functional(printer, operands, results)


class ComplexOpType(CustomDirective):
    """`tensor<4xcomplex<f32>>`: the result's type; the operands have the real type of it."""

    operands: TypeDirective
    results: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if not _functional(parser, self.operands, self.results, state):
            type = parser.parse_type()
            real = _real(type)
            if real is None:
                parser.raise_error("complex gives a tensor of complex numbers")
            self.operands.set(state, [real, real])
            self.results.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        operands, results = self.operands.get(op), self.results.get(op)
        state.print_whitespace(printer)
        if all(type == _real(results[0]) for type in operands):
            printer.print_attribute(results[0])
        else:
            _print_functional(printer, operands, results)


def _real(type: Attribute) -> Attribute | None:
    if not isinstance(type, TensorType):
        return None
    tensor = cast(TensorType[Attribute], type)
    element = tensor.element_type
    if not isinstance(element, ComplexType):
        return None
    real = cast(ComplexType[AnyFloat], element).element_type
    return TensorType(real, tensor.get_shape(), tensor.encoding)


class PairwiseOpType(CustomDirective):
    """`tensor<4xf32>, tensor<2xf32>`: result i has the type of operand i."""

    operands: TypeDirective
    results: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        self.operands.set(state, types)
        self.results.set(state, types)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_list(self.operands.get(op), printer.print_attribute)


class TokenTypes(CustomDirective):
    """`!stablehlo.token`: the one type of all operands and of the result."""

    operands: TypeDirective
    results: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type = parser.parse_type()
        self.operands.set(state, [type] * _operand_count(state))
        self.results.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_attribute(self.results.get(op)[0])


class TupleOpType(CustomDirective):
    """`tuple<tensor<4xf32>, tensor<f32>>`: the operands have the types of the parts."""

    operands: TypeDirective
    results: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type = parser.parse_type()
        if not isinstance(type, TupleType):
            parser.raise_error("expected a tuple type")
        self.operands.set(state, type.types.data)
        self.results.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_attribute(self.results.get(op)[0])
