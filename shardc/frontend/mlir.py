"""Reading MLIR text: what JAX, Shardy and shardc itself print.

xDSL's parser, with what it lacks: hexadecimal floats and splats (dialects/dense.py), all of MLIR's locations,
and a location for every operation. Errors are ShardcErrors that point at the text.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, AttributeInvT, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span

from shardc.collector import no_garbage_collection
from shardc.diagnostics import Location, ShardcError, did_you_mean, register_source
from shardc.dialects.context import make_context
from shardc.dialects.dense import DenseAttr, parse_literal
from shardc.dialects.locations import SourceLoc
from shardc.dialects.nested import nested
from shardc.dialects.wellformed import first_line, verify
from shardc.frontend.backward import BACKWARD
from shardc.frontend.backward_pass import backward_pass, mark_reductions
from shardc.frontend.derivative_names import name_derivatives
from shardc.frontend.loop_names import name_carried
from shardc.frontend.mlir_lexer import StrictLexer, closing
from shardc.frontend.mlir_lines import DICTIONARY, TENSOR, LineReader
from shardc.frontend.mlir_locations import ALIAS_LINES, LocationReader, placed, set_location
from shardc.frontend.mlir_marks import APPROXIMATE, MHLO_SHARDING, PYTHON
from shardc.frontend.mlir_symbols import check_meshes, check_names
from shardc.frontend.python_names import name_values
from shardc.frontend.saved_names import name_saved
from shardc.ops import near


def read(
    text: str, file: str = "<stdin>", allow_unregistered: bool = False, dynamic: bool = False
) -> ModuleOp:
    """The module in `text`, verified.

    Every operation has a location: the text's own `loc(…)`, else its place in the text.
    `allow_unregistered` lets operations of unknown dialects in, `dynamic` tensors of dynamic shape where no
    factor rule is asked for. Raises ShardcError at the first thing wrong.
    """
    text = text.removeprefix("\ufeff")
    register_source(file, text)
    if not text.strip():
        raise ShardcError("the module has no function", Location(file, 1, 1), MLIR)
    with no_garbage_collection():
        module = _parse(text, file, allow_unregistered)
        if APPROXIMATE in text:
            from shardc.frontend.mlir_approx import read_approximate

            read_approximate(module)
        if MHLO_SHARDING in text:
            from shardc.frontend.mlir_gspmd import read_gspmd

            read_gspmd(module)
        backward = backward_pass(module) if BACKWARD in text else set[Operation]()
        before = {op: op.location for op in nested([module])} if backward and PYTHON in text else {}
        mark_reductions(backward)
        named = name_values(module, backward) if PYTHON in text else {}
        name_carried(module, backward)
        if PYTHON in text:
            name_saved(module, backward, named)
            name_derivatives(module, backward, before, named)
        check_names(module)
        verify(module, dynamic)
    check_meshes(module)
    return module


_WRONG = (
    *(VerifyException, ValueError, AssertionError, LookupError, NotImplementedError, TypeError),
    *(OverflowError, struct.error),
)
"""What attributes and operations raise when they are built from wrong text."""


def _parse(text: str, file: str, allow_unregistered: bool) -> ModuleOp:
    parser = None
    try:
        parser = ModuleParser(text, file)
        parser.ctx.allow_unregistered = allow_unregistered
        module = parser.parse_module()
    except ParseError as error:
        if parser is not None:
            parser.check_forward_references()
        at_end = error.span.start >= len(text.rstrip())
        message = "the text ends in the middle of something" if at_end else first_line(error.msg)
        raise ShardcError(message, place_in(text, file, error.span.start)) from None
    except RecursionError:
        raise ShardcError("the text is nested too deeply", Location(file, 1, 1)) from None
    except _WRONG as error:
        position = 0 if parser is None else parser.pos
        raise ShardcError(first_line(str(error)), place_in(text, file, position)) from None
    if not module.body.blocks:
        raise ShardcError("the module has no function", Location(file, 1, 1), MLIR)
    if module.location == UNKNOWN_LOC:
        set_location(module, SourceLoc(Location(file, 1, 1)))
    return module


MLIR = "a module is MLIR text: jax.jit(f).lower(x).as_text() prints one"
"""For a text that is in another language, or empty."""


def place_in(text: str, file: str, position: int) -> Location:
    """Line and column of a position in a text."""
    return Location(file, text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position))


MOST_BITS = 2**24 - 1
"""Of an integer type, as in MLIR."""

_INTEGER = re.compile(r"[su]?i(\d{4,})")
_RESULT = re.compile(r"%([\w$.-]+)\s*[=:,]")
"""A name that the text defines or uses beside others."""


class ModuleParser(Parser):
    """xDSL's parser with our constants and locations."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.locations = LocationReader(text)
        self._types: dict[str, TypeAttribute] = {}
        self._dictionaries: dict[str, dict[str, Attribute]] = {}
        self._reader = LineReader(text, file, self.locations, self._types)
        self._used: dict[str, Span] = {}
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        super().__init__(make_context(), "", file)
        self._parser_state = ParserState(StrictLexer(Input(text, file)))

    def place(self, position: int) -> Location:
        """Line and column of a position in the text."""
        line = bisect_right(self._lines, position)
        return Location(self.file, line, position - self._lines[line - 1] + 1)

    def check_forward_references(self) -> None:
        """Raise ShardcError for the first use of a name whose definition the text, read to its end, lacks."""
        if self.text[self.pos :].strip():
            return
        for name, values in self.forward_ssa_references.items():
            if any(value.uses for value in values.values()):
                start = self._used[name].start
                defined = {f"%{known}" for known in _RESULT.findall(self.text, 0, start)}
                raise ShardcError(
                    f"%{name} is used but not defined",
                    self.place(start),
                    did_you_mean(f"%{name}", sorted(defined)),
                )

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        """As xDSL's; where a name is used before its definition is kept, for an error."""
        name = operand.operand_name
        if name not in self.ssa_values and name not in self.forward_ssa_references:
            self._used[name] = operand.span
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.forward_ssa_references:
            self.raise_error(f"%{name} is used before its definition here", span)
        super()._register_ssa_definition(name, values, span)

    # Locations

    def parse_optional_location(self) -> Any:
        position = self.pos
        if not self.text.startswith("loc(", position):
            return None
        end = closing(self.text, position + 3)
        if end < 0:
            self.raise_error("a location does not end", position)
        try:
            loc = self.locations.read(self.text[position + 4 : end])
        except ValueError as error:
            self.raise_error(str(error), position)
        self._resume_from(end + 1)
        return loc

    def _parse_alias_def(self) -> None:
        """Pass over the aliases of locations, all that follow each other: they have been read."""
        token = self._current_token
        lines = ALIAS_LINES.match(self.text, token.span.start)
        if lines is None or token.text not in self.locations.aliases:
            super()._parse_alias_def()
        else:
            self._resume_from(lines.end())

    # Operations

    def _parse_block_body(self, block: Block) -> None:
        while True:
            start = self.pos
            line = bisect_right(self._lines, start)
            pending = self.forward_ssa_references
            following = self._reader.read(block, start, line, self.ssa_values, pending)
            if following != start:
                self._resume_from(following)
            start = self.pos
            op = self.parse_optional_operation()
            if op is None:
                return
            block.add_op(op)
            self._reader.learn(start, self.pos, op, self.ssa_values)

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """As xDSL's, but the error points at the name, and says the nearest one that there is."""
        known = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is not None:
            return known
        place = self.place(self.text.rfind(name, 0, self.pos))
        hint = near(name) if "." in name else MLIR
        raise ShardcError(f"there is no operation {name}", place, hint)

    def parse_operation(self) -> Operation:
        position = self.pos
        op = super().parse_operation()
        if isinstance(op, FuncOp):
            _drop_empty(op)
        set_location(op, placed(op.location, self.place(position)))
        return op

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        if arguments is not None:
            arguments = list(arguments)
            for arg in arguments:
                set_location(arg, placed(arg.location, self.place(arg.name.start)))
        return super().parse_optional_region(arguments)

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        place = self.place(self.pos)
        super()._parse_optional_block_arg_list(block)
        for arg in block.args:
            set_location(arg, placed(arg.location, place))
        return block

    # Types and constants

    def parse_optional_type(self) -> TypeAttribute | None:
        """As xDSL's, but equal texts of tensor types give one object, made once."""
        wide = _INTEGER.match(self.text, self.pos)
        if wide is not None and (len(wide[1]) > 8 or int(wide[1]) > MOST_BITS):
            self.raise_error(f"an integer has at most {MOST_BITS} bits")
        match = TENSOR.match(self.text, self.pos)
        if match is None:
            return super().parse_optional_type()
        known = self._types.get(match[0])
        if known is None:
            known = super().parse_optional_type()
            if known is not None and self.pos >= match.end():
                self._types[match[0]] = known
        else:
            self._resume_from(match.end())
        return known

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        """As xDSL's, but equal texts are read once: arguments are many, and their annotations few."""
        match = DICTIONARY.match(self.text, self.pos)
        if match and match[0] in self._dictionaries:
            self._resume_from(match.end())
            return dict(self._dictionaries[match[0]])
        read = super().parse_optional_dictionary_attr_dict()
        if match and self.pos >= match.end():
            self._dictionaries[match[0]] = dict(read)
        return read

    def _parse_builtin_dense_attr(self) -> Any:
        start = self.pos
        end = self.text.find(">", start + 1)
        if end < 0 or ":" in self.text[start + 1 : end]:
            self.raise_error("a constant does not end", start)
        body = self.text[start + 1 : end]
        self._resume_from(end + 1)
        self.parse_punctuation(":", " in dense attribute")
        type = self.parse_type()
        if not isinstance(type, TensorType):
            self.raise_error(f"a constant is a tensor; {type} is none, tensor<{type}> is", start)
        return self._dense(body, cast("TensorType[Attribute]", type), start)

    def _dense(self, body: str, type: TensorType[Attribute], start: int) -> DenseAttr:
        try:
            return parse_literal(body, type)
        except ValueError as error:
            self.raise_error(str(error), start)


def _drop_empty(func: FuncOp) -> None:
    """Forget lists of empty dictionaries, which the generic form of a function may have."""
    for key, attr in (("arg_attrs", func.arg_attrs), ("res_attrs", func.res_attrs)):
        if attr is not None and not any(entry.data for entry in attr):
            del func.properties[key]
