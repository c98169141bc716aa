"""Printing modules as MLIR text that jaxlib reads (spmd operations need unregistered dialects allowed)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer


@dataclass(eq=False, repr=False)
class ModulePrinter(Printer):
    """A printer that writes each attribute object out only once."""

    _texts: dict[int, tuple[Attribute, str]] = field(
        default_factory=dict[int, tuple[Attribute, str]], init=False
    )

    def print_attribute(self, attribute: Attribute) -> None:
        if self.printing_location:
            super().print_attribute(attribute)
            return
        known = self._texts.get(id(attribute))
        if known is None:
            stream = StringIO()
            Printer(stream).print_attribute(attribute)
            known = self._texts[id(attribute)] = (attribute, stream.getvalue())
        self.print_string(known[1])

    def print_op_attributes(
        self,
        attributes: Mapping[str, Attribute],
        *,
        reserved_attr_names: Iterable[str] = (),
        print_keyword: bool = False,
    ) -> bool:
        """Attributes by name, as MLIR prints them, in whatever order they were set."""
        ordered = dict(sorted(attributes.items())) if len(attributes) > 1 else attributes
        return super().print_op_attributes(
            ordered, reserved_attr_names=reserved_attr_names, print_keyword=print_keyword
        )


def print_module(module: ModuleOp, locations: bool = False, generic: bool = False) -> str:
    """The text of a module, the same for the same module; with `locations`, each operation ends in loc(…)."""
    return print_op(module, locations, generic) + "\n"


def print_op(op: Operation, locations: bool = False, generic: bool = False) -> str:
    """The text of one operation."""
    stream = StringIO()
    printer = ModulePrinter(stream, print_debuginfo=locations, print_generic_format=generic)
    printer.print_op(op)
    return stream.getvalue()
