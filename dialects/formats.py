"""Pretty syntax that xDSL's declarative formats say, read when an operation is first parsed or printed.

    @written("$sym_name `=` $mesh attr-dict")
    @irdl_op_definition
    class MeshOp(IRDLOperation):
        sym_name = prop_def(SymbolNameConstraint())
        mesh = prop_def(MeshAttr)

xDSL itself reads a format, `assembly_format`, as it defines the class; a program without text needs none.
`custom<Name>(…)` in a format is the class Name among the directives in directives.py. Classes with the same
members, as those of addition and multiplication, have what is read in common.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

_Class = TypeVar("_Class", bound=type[IRDLOperation])


def written(format: str) -> Callable[[_Class], _Class]:
    """Give a class the way to parse and print that a format says.

    A wrong format is an error of xDSL's when the class is first parsed or printed.
    """

    def decorate(cls: _Class) -> _Class:
        def parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
            return _program(cls, format).parse(parser, cls)

        def print(self: IRDLOperation, printer: Printer) -> None:
            _program(type(self), format).print(printer, self)

        setattr(cls, "parse", classmethod(parse))
        setattr(cls, "print", print)
        return cls

    return decorate


@cache
def _program(cls: type[IRDLOperation], format: str) -> FormatProgram:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    from shardc.dialects.directives import DIRECTIVES

    definition = cls.get_irdl_definition()
    members = [getattr(definition, name) for name in _MEMBERS]
    for others, program in _READ.setdefault(format, []):
        if others == members:
            return program
    program = FormatProgram.from_str(format, replace(definition, custom_directives=DIRECTIVES))
    _READ[format].append((members, program))
    return program


_MEMBERS = (
    *("operands", "results", "regions", "successors", "properties", "attributes"),
    *("accessor_names", "options"),
)
"""What xDSL asks of an operation's definition as it reads a format."""

_READ: dict[str, list[tuple[list[object], FormatProgram]]] = {}
"""Format -> what was read of it, for each list of members."""
