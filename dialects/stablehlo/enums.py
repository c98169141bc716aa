"""The enums of StableHLO, `#stablehlo<precision HIGHEST>`, and attributes that are only carried along."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from shardc.dialects.data_attribute import ValueAttr, data_attribute


class EnumAttr(ValueAttr[str], SpacedOpaqueSyntaxAttribute, ABC):
    """One of a few words; `cases` lists them."""

    cases: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        word = parser.parse_identifier()
        if word not in cls.cases:
            parser.raise_error(f"{word} is no {cls.name.split('.')[1]}; it is one of {', '.join(cls.cases)}")
        return word

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


@data_attribute
class ComparisonDirectionAttr(EnumAttr):
    """What compare asks."""

    name = "stablehlo.comparison_direction"
    cases: ClassVar = ("EQ", "NE", "GE", "GT", "LE", "LT")


@data_attribute
class ComparisonTypeAttr(EnumAttr):
    """How compare orders its operands."""

    name = "stablehlo.comparison_type"
    cases: ClassVar = ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


@data_attribute
class PrecisionAttr(EnumAttr):
    """How exactly a product is computed."""

    name = "stablehlo.precision"
    cases: ClassVar = ("DEFAULT", "HIGH", "HIGHEST")


@data_attribute
class FftTypeAttr(EnumAttr):
    """Which Fourier transform."""

    name = "stablehlo.fft_type"
    cases: ClassVar = ("FFT", "IFFT", "RFFT", "IRFFT")


@data_attribute
class TransposeAttr(EnumAttr):
    """Whether triangular_solve transposes its matrix."""

    name = "stablehlo.transpose"
    cases: ClassVar = ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")


@data_attribute
class RngDistributionAttr(EnumAttr):
    """The distribution of rng."""

    name = "stablehlo.rng_distribution"
    cases: ClassVar = ("UNIFORM", "NORMAL")


@data_attribute
class RngAlgorithmAttr(EnumAttr):
    """The generator of rng_bit_generator."""

    name = "stablehlo.rng_algorithm"
    cases: ClassVar = ("DEFAULT", "THREE_FRY", "PHILOX")


# Attributes that are carried along as text


class TextAttr(ValueAttr[str], ABC):
    """An attribute whose body, in angle brackets, is kept as it was written."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        start = parser.pos
        end = _closing(parser.lexer.input.content, start)
        parser._resume_from(end)  # pyright: ignore[reportPrivateUsage]
        return parser.lexer.input.content[start + 1 : end - 1]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


def _closing(text: str, start: int) -> int:
    """The position after the angle bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] == "<":
            depth += 1
        elif text[position] == ">" and text[position - 1] != "-":
            depth -= 1
            if depth == 0:
                return position + 1
    return len(text)


@data_attribute
class DotAlgorithmAttr(TextAttr):
    """The algorithm of dot_general."""

    name = "stablehlo.dot_algorithm"


@data_attribute
class ResultAccuracyAttr(TextAttr):
    """How exact an elementwise function has to be."""

    name = "stablehlo.result_accuracy"


@data_attribute
class BoundsAttr(TextAttr):
    """Bounds of dynamic dimensions."""

    name = "stablehlo.bounds"


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """What orders side effects."""

    name = "stablehlo.token"


WORDS: list[type[EnumAttr | TextAttr]] = [
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    PrecisionAttr,
    FftTypeAttr,
    TransposeAttr,
    RngDistributionAttr,
    RngAlgorithmAttr,
    DotAlgorithmAttr,
    ResultAccuracyAttr,
    BoundsAttr,
]
"""The attributes that are a word, or kept as text."""

ENUMS: list[type[Attribute]] = [*WORDS, TokenType]
