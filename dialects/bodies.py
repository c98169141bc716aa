"""Reading and printing operations that carry a body with named arguments.

`(%arg: tensor<2xf32>) { … } {attributes} : (operand types) -> result types`, as sdy writes it. xDSL's
`parse_argument` does not read the `loc(…)` after an argument, so it is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

OpT = TypeVar("OpT", bound=Operation)


def parse_operands(parser: Parser) -> list[UnresolvedOperand]:
    """Read `(%0, %1)`."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)


def parse_arguments(parser: Parser) -> list[Parser.Argument]:
    """Read `(%a: tensor<2xf32> loc("a"), %b: …)`."""

    def argument() -> Parser.Argument:
        arg = parser.parse_argument()
        arg.location = parser.parse_optional_location()
        return arg

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)


def parse_body(
    parser: Parser, cls: type[OpT], operands: Sequence[UnresolvedOperand], properties: dict[str, Attribute]
) -> OpT:
    """Read arguments, body, attributes and type, and build the operation."""
    region = parser.parse_region(parse_arguments(parser))
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    position = parser.pos
    type = parser.parse_function_type()
    return cls.create(
        operands=parser.resolve_operands(operands, type.inputs.data, position),
        result_types=type.outputs.data,
        properties=properties,
        attributes=attributes,
        regions=[region],
    )


def print_operands(printer: Printer, operands: Sequence[SSAValue]) -> None:
    """Print `(%0, %1)`."""
    with printer.in_parens():
        printer.print_list(operands, printer.print_ssa_value)


def print_body(printer: Printer, op: Operation) -> None:
    """Print arguments, body, attributes and type."""
    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(op.regions[0].block.args, printer.print_block_argument)
    printer.print_string(" ")
    printer.print_region(op.regions[0], print_entry_block_args=False, print_empty_block=False)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)
