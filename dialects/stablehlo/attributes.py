"""The attributes of StableHLO: dimension numbers, channel handles, enums.

Each holds one plain Python value (`graph/attrs.py`), so they are cheap to build, hash and compare:
`#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>` holds
`DotDims(lhs_contracting=(1,), rhs_contracting=(0,))`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar, TypeVar, cast

from msgspec import Struct
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from shardc.dialects.data_attribute import ValueAttr, data_attribute
from shardc.dialects.stablehlo.enums import ENUMS
from shardc.graph.attrs import ConvDims, DotDims, GatherDims, ScatterDims

T = TypeVar("T")


class StructAttr(ValueAttr[T], ABC):
    """`#stablehlo.x<key = [1, 2], other = 3>` for a record of integers and tuples of integers.

    `keys` maps the key in the text to the field of the record. Empty lists and zeros are left
    out, except those that are `always` written.
    """

    keys: ClassVar[Mapping[str, str]]
    struct: ClassVar[type[Struct]]
    always: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> T:
        fields: dict[str, int | tuple[int, ...]] = {}

        def entry() -> None:
            key = parser.parse_identifier()
            if key not in cls.keys:
                parser.raise_error(f"{cls.name} has no {key}; it has {', '.join(cls.keys)}")
            parser.parse_punctuation("=")
            fields[cls.keys[key]] = _int_or_ints(parser)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        return cast("T", cls.struct(**fields))

    def print_parameter(self, printer: Printer) -> None:
        entries: list[str] = []
        for key, field in self.keys.items():
            value: int | tuple[int, ...] = getattr(self.data, field)
            if isinstance(value, tuple) and (value or key in self.always):
                entries.append(f"{key} = [{', '.join(map(str, value))}]")
            elif not isinstance(value, tuple) and (value or key in self.always):
                entries.append(f"{key} = {value}")
        printer.print_string(f"<{', '.join(entries)}>")


def _int_or_ints(parser: AttrParser) -> int | tuple[int, ...]:
    values = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return parser.parse_integer() if values is None else tuple(values)


@data_attribute
class DotAttr(StructAttr[DotDims]):
    """Which dimensions of dot_general's operands go together."""

    name = "stablehlo.dot"
    struct: ClassVar = DotDims
    keys: ClassVar = {
        "lhs_batching_dimensions": "lhs_batching",
        "rhs_batching_dimensions": "rhs_batching",
        "lhs_contracting_dimensions": "lhs_contracting",
        "rhs_contracting_dimensions": "rhs_contracting",
    }


@data_attribute
class GatherAttr(StructAttr[GatherDims]):
    """How gather's indices address the operand."""

    name = "stablehlo.gather"
    struct: ClassVar = GatherDims
    keys: ClassVar = {field: field for field in GatherDims.__struct_fields__}


@data_attribute
class ScatterAttr(StructAttr[ScatterDims]):
    """How scatter's indices address the operand."""

    name = "stablehlo.scatter"
    struct: ClassVar = ScatterDims
    keys: ClassVar = {field: field for field in ScatterDims.__struct_fields__}


class Channel(Struct, frozen=True):
    """What identifies a communication, and its kind (1: device to device)."""

    handle: int = 0
    type: int = 0


@data_attribute
class ChannelAttr(StructAttr[Channel]):
    """The channel of a collective."""

    name = "stablehlo.channel_handle"
    struct: ClassVar = Channel
    keys: ClassVar = {"handle": "handle", "type": "type"}
    always: ClassVar = frozenset(("handle", "type"))


class Alias(Struct, frozen=True):
    """Which operand an output shares its memory with."""

    output: tuple[int, ...] = ()
    operand: int = 0
    inside: tuple[int, ...] = ()


@data_attribute
class AliasAttr(StructAttr[Alias]):
    """One entry of a custom call's output_operand_aliases."""

    name = "stablehlo.output_operand_alias"
    struct: ClassVar = Alias
    keys: ClassVar = {
        "output_tuple_indices": "output",
        "operand_index": "operand",
        "operand_tuple_indices": "inside",
    }
    always: ClassVar = frozenset(keys)


# Convolution dimensions: [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]


@data_attribute
class ConvAttr(ValueAttr[ConvDims]):
    """Which dimension of a convolution's operands and result is what."""

    name = "stablehlo.conv"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConvDims:
        with parser.in_angle_brackets():
            return parse_conv(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{conv_text(self.data)}>")


def parse_conv(parser: AttrParser) -> ConvDims:
    """Read the compact form of convolution dimensions."""
    lhs = _letters(parser)
    parser.parse_characters("x")
    kernel = _letters(parser)
    parser.parse_punctuation("->")
    output = _letters(parser)
    try:
        return ConvDims(
            *_positions(lhs, "b", "f"), *_positions(kernel, "i", "o"), *_positions(output, "b", "f")
        )
    except ValueError as error:
        parser.raise_error(str(error))


def _letters(parser: AttrParser) -> list[str]:
    def letter() -> str:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_identifier() if number is None else str(number)

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, letter)


def _positions(letters: list[str], first: str, second: str) -> tuple[int, int, tuple[int, ...]]:
    expected = {first, second, *(str(i) for i in range(len(letters) - 2))}
    if set(letters) != expected or len(letters) != len(expected):
        raise ValueError(f"dimensions [{', '.join(letters)}] should be a permutation of {sorted(expected)}")
    spatial = tuple(letters.index(str(i)) for i in range(len(letters) - 2))
    return letters.index(first), letters.index(second), spatial


def conv_text(dims: ConvDims) -> str:
    """The compact form of convolution dimensions."""
    lhs = _row(dims.input_spatial, b=dims.input_batch, f=dims.input_feature)
    kernel = _row(dims.kernel_spatial, i=dims.kernel_input_feature, o=dims.kernel_output_feature)
    output = _row(dims.output_spatial, b=dims.output_batch, f=dims.output_feature)
    return f"{lhs}x{kernel}->{output}"


def _row(spatial: tuple[int, ...], **named: int) -> str:
    row = [""] * (len(spatial) + 2)
    for position, index in enumerate(spatial):
        row[index] = str(position)
    for letter, index in named.items():
        row[index] = letter
    return f"[{', '.join(row)}]"


ATTRIBUTES: list[type[Attribute]] = [
    DotAttr,
    GatherAttr,
    ScatterAttr,
    ChannelAttr,
    AliasAttr,
    ConvAttr,
    *ENUMS,
]
