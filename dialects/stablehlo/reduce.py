"""reduce, whose text names the operation that combines, or holds the body with its arguments in pairs."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from shardc.dialects.base import I64Array, PureOp
from shardc.dialects.bodies import parse_arguments
from shardc.dialects.derive import op_class
from shardc.ops import hlo


@irdl_op_definition
class ReduceOp(PureOp):
    """Combines all elements along `dimensions`, starting from the initial value.

    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]
        : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>

    Several inputs are reduced together; the body then has its own text, whose arguments are
    grouped in pairs `reducer(%a: …, %b: …)`: the accumulated value and the new one.
    """

    name = hlo.reduce.name
    inputs = var_operand_def(TensorType)
    init_values = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    dimensions = prop_def(I64Array)
    body = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        inputs, inits = _parse_inputs(parser)
        combine = None
        if parser.parse_optional_keyword("applies") is not None:
            combine = parser.parse_identifier()
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_function_type()
        operands = parser.resolve_operands([*inputs, *inits], type.inputs.data, position)
        if combine is None:
            body = _parse_reducer(parser)
        else:
            body = _body_of(parser, combine, operands[-1].type)
        return cls.create(
            operands=operands,
            result_types=type.outputs.data,
            properties={"dimensions": DenseArrayBase.from_list(i64, dimensions)},
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        if not print_reduced(printer, self):
            printer.print_string(" reducer")
            print_pairs(printer, self.body)
            printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


def print_reduced(printer: Printer, op: ReduceOp) -> bool:
    """Print everything but the name and a body with a text of its own; whether there is no such body."""
    count = len(op.operands) // 2
    pairs = zip(op.operands[:count], op.operands[count:], strict=True)
    for index, (value, init) in enumerate(pairs):
        printer.print_string(", (" if index else "(")
        printer.print_ssa_value(value)
        printer.print_string(" init: ")
        printer.print_ssa_value(init)
        printer.print_string(")")
    combine = _plain_combiner(op.body.block)
    if combine is not None:
        printer.print_string(f" applies {combine.name}")
    printer.print_string(f" across dimensions = {list(op.dimensions.get_values())}")
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)
    return combine is not None


def _parse_inputs(parser: Parser) -> tuple[list[UnresolvedOperand], list[UnresolvedOperand]]:
    """Read `(%0 init: %a), (%1 init: %b)`."""

    def pair() -> tuple[UnresolvedOperand, UnresolvedOperand]:
        with parser.in_parens():
            value = parser.parse_unresolved_operand()
            parser.parse_keyword("init")
            parser.parse_punctuation(":")
            return value, parser.parse_unresolved_operand()

    pairs = parser.parse_comma_separated_list(parser.Delimiter.NONE, pair)
    return [value for value, _ in pairs], [init for _, init in pairs]


def _body_of(parser: Parser, combine: str, init: Attribute) -> Region:
    """The body that applies one operation to its two arguments."""
    cls = parser.ctx.get_optional_op(combine)
    if cls is None:
        parser.raise_error(f"Operation {combine} is not registered")
    block = Block(arg_types=[init, init])
    op = cls.create(operands=block.args, result_types=[init])
    block.add_ops([op, op_class(hlo.return_).create(operands=op.results)])
    return Region(block)


def _plain_combiner(block: Block) -> Operation | None:
    """The operation of a body that only applies it to its arguments, in order; else None."""
    first = block.first_op
    if first is None or len(block.args) != 2 or first.next_op is not block.last_op or first.regions:
        return None
    last = first.next_op
    same_types = all(value.type == block.args[0].type for value in (*first.operands, *first.results))
    if last is None or not same_types or tuple(first.operands) != tuple(block.args):
        return None
    return first if tuple(last.operands) == tuple(first.results) and not first.properties else None


def _parse_reducer(parser: Parser) -> Region:
    """Read `reducer(%a: …, %b: …) (%c: …, %d: …) { … }`."""
    parser.parse_keyword("reducer")
    pairs: list[list[Parser.Argument]] = []
    while not pairs or parser._current_token.text == "(":  # pyright: ignore[reportPrivateUsage]
        pairs.append(parse_arguments(parser))
        if len(pairs[-1]) != 2:
            parser.raise_error("a reducer takes its arguments in pairs")
    return parser.parse_region([pair[0] for pair in pairs] + [pair[1] for pair in pairs])


def print_pairs(printer: Printer, body: Region) -> None:
    """Print `(%a: …, %b: …) (%c: …, %d: …) `."""
    args = body.block.args
    count = len(args) // 2
    for pair in zip(args[:count], args[count:], strict=True):
        with printer.in_parens():
            printer.print_list(pair, printer.print_block_argument)
        printer.print_string(" ")
