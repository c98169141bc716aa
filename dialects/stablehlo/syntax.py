"""The attributes of StableHLO's pretty syntax that xDSL's declarative formats have no word for.

Each is a custom directive of the same name as in StableHLO's own definition of its formats.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from shardc.dialects.dense import DenseAttr, pairs_attr
from shardc.dialects.stablehlo.attributes import ConvAttr, DotAttr, conv_text, parse_conv
from shardc.dialects.stablehlo.enums import DotAlgorithmAttr, PrecisionAttr
from shardc.graph.attrs import DotDims


def _ints(parser: Parser) -> list[int]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)


def _values(attr: Attribute | None) -> tuple[int, ...]:
    return cast("DenseArrayBase[IntegerType]", attr).get_values() if attr is not None else ()


class SliceRanges(CustomDirective):
    """`[1:3, 0:8:2]`: start, limit and stride of every dimension."""

    start: AttributeVariable
    limit: AttributeVariable
    strides: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: self._range(parser))
        columns = list(zip(*ranges, strict=True)) or [(), (), ()]
        for variable, column in zip((self.start, self.limit, self.strides), columns, strict=True):
            variable.set(state, DenseArrayBase.from_list(i64, column))

    def _range(self, parser: Parser) -> tuple[int, int, int]:
        start = parser.parse_integer()
        parser.parse_punctuation(":")
        limit = parser.parse_integer()
        stride = parser.parse_integer() if parser.parse_optional_punctuation(":") else 1
        return start, limit, stride

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        columns = (_values(variable.get(op)) for variable in (self.start, self.limit, self.strides))
        state.print_whitespace(printer)
        ranges = [f"{a}:{b}" + (f":{step}" if step != 1 else "") for a, b, step in zip(*columns, strict=True)]
        printer.print_string(f"[{', '.join(ranges)}]")


class DotDimensionNumbers(CustomDirective):
    """`batching_dims = [0] x [0], contracting_dims = [2] x [1]`."""

    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        batching: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        if parser.parse_optional_keyword("batching_dims") is not None:
            batching = self._pair(parser)
            parser.parse_punctuation(",")
        parser.parse_keyword("contracting_dims")
        self.numbers.set(state, DotAttr(DotDims(*batching, *self._pair(parser))))

    def _pair(self, parser: Parser) -> tuple[tuple[int, ...], tuple[int, ...]]:
        parser.parse_punctuation("=")
        lhs = _ints(parser)
        parser.parse_keyword("x")
        return tuple(lhs), tuple(_ints(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        dims = cast(DotAttr, self.numbers.get(op)).data
        state.print_whitespace(printer)
        if dims.lhs_batching or dims.rhs_batching:
            printer.print_string(f"batching_dims = {[*dims.lhs_batching]} x {[*dims.rhs_batching]}, ")
        printer.print_string(f"contracting_dims = {[*dims.lhs_contracting]} x {[*dims.rhs_contracting]}")


class PrecisionConfig(CustomDirective):
    """`, precision = [DEFAULT, HIGH]`, if given."""

    precision: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_punctuation(","):
            parser.parse_keyword("precision")
            parser.parse_punctuation("=")
            self.precision.set(state, parse_precision(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        print_precision(printer, self.precision.get(op))


class PrecisionConfigAndAlgorithm(CustomDirective):
    """`, precision = [DEFAULT, HIGH]` and `, algorithm = <…>`, each only if given."""

    precision: AttributeVariable
    algorithm: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        while parser.parse_optional_punctuation(","):
            if parser.parse_optional_keyword("precision") is not None:
                parser.parse_punctuation("=")
                self.precision.set(state, parse_precision(parser))
            else:
                parser.parse_keyword("algorithm")
                parser.parse_punctuation("=")
                self.algorithm.set(state, DotAlgorithmAttr(DotAlgorithmAttr.parse_parameter(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        algorithm = self.algorithm.get(op)
        print_precision(printer, self.precision.get(op))
        if algorithm is not None:
            printer.print_string(", algorithm = ")
            cast(DotAlgorithmAttr, algorithm).print_parameter(printer)


def print_precision(printer: Printer, precision: Attribute | None) -> None:
    """Print `, precision = [DEFAULT, HIGH]`, if there is any."""
    if precision is not None:
        words = ", ".join(attr.data for attr in cast(ArrayAttr[PrecisionAttr], precision))
        printer.print_string(f", precision = [{words}]")


def parse_precision(parser: Parser) -> ArrayAttr[PrecisionAttr]:
    """Read `[DEFAULT, HIGH]`."""
    words = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: PrecisionAttr.parse_parameter(parser)
    )
    return ArrayAttr([PrecisionAttr(word) for word in words])


class ConvolutionDimensions(CustomDirective):
    """`[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`."""

    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.numbers.set(state, ConvAttr(parse_conv(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_string(conv_text(cast(ConvAttr, self.numbers.get(op)).data))


class WindowAttributes(CustomDirective):
    """`{stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = …, rhs_dilate = …, reverse = …}`."""

    strides: AttributeVariable
    padding: AttributeVariable
    lhs_dilation: AttributeVariable
    rhs_dilation: AttributeVariable
    reversal: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: self._entry(parser, state))

    def _entry(self, parser: Parser, state: ParsingState) -> None:
        arrays = {
            "stride": self.strides,
            "lhs_dilate": self.lhs_dilation,
            "rhs_dilate": self.rhs_dilation,
        }
        key = parser.parse_identifier()
        parser.parse_punctuation("=")
        if key == "pad":
            rows = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: tuple(_ints(parser)))
            self.padding.set(state, pairs_attr(tuple(rows)))
        elif key == "reverse":
            self.reversal.set(state, DenseArrayBase.from_list(i1, _ints(parser)))
        elif key in arrays:
            arrays[key].set(state, DenseArrayBase.from_list(i64, _ints(parser)))
        else:
            parser.raise_error(
                f"a window has no {key}; it has stride, pad, lhs_dilate, rhs_dilate and reverse"
            )

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        entries: list[str] = []
        if (strides := self.strides.get(op)) is not None:
            entries.append(f"stride = {list(_values(strides))}")
        if (padding := self.padding.get(op)) is not None:
            entries.append(f"pad = {cast(DenseAttr, padding).data.value.array().tolist()}")
        for key, variable in (("lhs_dilate", self.lhs_dilation), ("rhs_dilate", self.rhs_dilation)):
            if (dilation := variable.get(op)) is not None:
                entries.append(f"{key} = {list(_values(dilation))}")
        if (reversal := self.reversal.get(op)) is not None:
            words = ("true" if flag else "false" for flag in _values(reversal))
            entries.append(f"reverse = [{', '.join(words)}]")
        state.print_whitespace(printer)
        printer.print_string(f"{{{', '.join(entries)}}}")


class ExponentMantissa(CustomDirective):
    """`e5m10`: the bits of a floating-point format."""

    exponent: AttributeVariable
    mantissa: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        word = parser.parse_identifier()
        exponent, _, mantissa = word[1:].partition("m")
        if word[0] != "e" or not (exponent.isdigit() and mantissa.isdigit()):
            parser.raise_error(f"{word} is no floating-point format; one is e5m10")
        self.exponent.set(state, IntegerAttr(int(exponent), i32))
        self.mantissa.set(state, IntegerAttr(int(mantissa), i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        exponent, mantissa = (
            cast(IntegerAttr[IntegerType], v.get(op)) for v in (self.exponent, self.mantissa)
        )
        printer.print_string(f"e{exponent.value.data}m{mantissa.value.data}")


class CustomCallTarget(CustomDirective):
    """`@Sharding`: a string written as a symbol."""

    target: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.target.set(state, parser.parse_symbol_name())

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_attribute(SymbolRefAttr(cast(StringAttr, self.target.get(op))))
        state.should_emit_space = False
        state.last_was_punctuation = True


class VariadicOperandWithAttribute(CustomDirective):
    """`%0, %1,`: operands with a comma after the last one too, before an attribute."""

    operands: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        operands: list[UnresolvedOperand] = []
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            operands.append(operand)
            parser.parse_punctuation(",")
        self.operands.set(state, operands)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        for operand in self.operands.get(op):
            state.print_whitespace(printer)
            printer.print_ssa_value(operand)
            printer.print_string(",")
