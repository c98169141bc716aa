"""The printers of a language, attached to the definitions of the operations they print.

    @JAX.prints(hlo.gather)
    def gather(scope: Scope, node: Node) -> Expr: ...

What has no printer of its own is written as its definition spells it, if the spelling is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from shardc.backend.python.expressions import Expr
from shardc.backend.python.terms import Several, Term
from shardc.graph import Node
from shardc.ops import OpDef, find

Printed = Expr | Term | Several | None
Printer = Callable[[Any, Node], Printed]
"""Text of a node's result; None if the printer wrote lines and defined the results itself.

Its first argument is the scope that is being written: a Scope, or the language's own kind of one.
"""

P = TypeVar("P", bound=Printer)


def unspelled(definition: OpDef) -> Printer | None:
    """No spelling is enough."""
    return None


class Printers:
    """The printers of one language.

    `shared` are those of several languages, which come second; `spelled` makes one from what the definition
    says, where nothing is attached.
    """

    def __init__(
        self, spelled: Callable[[OpDef], Printer | None] = unspelled, shared: Printers | None = None
    ) -> None:
        self._own: dict[str, Printer] = {}
        self._spelled = spelled
        self._shared = shared

    def prints(self, *definitions: OpDef) -> Callable[[P], P]:
        """Attach a printer to operations. ValueError if one of them has a printer in this language."""

        def attach(printer: P) -> P:
            for definition in definitions:
                if definition.name in self._own:
                    raise ValueError(f"{definition.name} has a printer already")
                self._own[definition.name] = printer
            return printer

        return attach

    def find(self, name: str) -> Printer | None:
        """The printer of an operation, if the language has one."""
        if name in self._own:
            return self._own[name]
        common = None if self._shared is None else self._shared.find(name)
        definition = find(name)
        if common is not None or definition is None:
            return common
        return self._spelled(definition)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None


ARRAYS = Printers()
"""What jax.numpy and NumPy write alike, under `jnp` and `np`."""
