"""Spellings with places: `np.broadcast_to({0}, {sizes})` has operand 0 and the attribute `sizes` in them.

What an operation of an embedding compiler calls often takes its attributes. A place is an operand's number,
an attribute's name, or `shape`, the sizes of the result's block. Attributes are numbers, truths, texts and
tuples of those.
"""

from __future__ import annotations

import re
from typing import cast

from shardc.backend.python.expressions import POSTFIX, Expr
from shardc.backend.python.printers import Printer
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Term
from shardc.diagnostics import ShardcError
from shardc.graph import Node

_PLACE = re.compile(r"\{(\w+)\}")


def is_template(text: str) -> bool:
    """Whether a spelling has places."""
    return _PLACE.search(text) is not None


def templated(text: str) -> Printer:
    """The printer of a spelling with places. ShardcError for a place that the operation does not fill."""

    def printer(scope: Scope, node: Node) -> Term:
        shape = scope.type(node.results[0]).shape
        operands = [scope.expr(value) for value in node.operands]

        def filled(match: re.Match[str]) -> str:
            place = match[1]
            if place.isdigit() and int(place) < len(operands):
                return operands[int(place)].text
            if place in node.attrs:
                return _literal(node.attrs[place], node.name)
            if place == "shape":
                return _literal(shape, node.name)
            raise ShardcError(f"the spelling {text!r} of {node.name} has {match[0]}, which it does not have")

        reads = frozenset[str]().union(*(operand.reads for operand in operands))
        weight = 1 + sum(operand.weight for operand in operands)
        return Term(Expr(_PLACE.sub(filled, text), level=POSTFIX, reads=reads, weight=weight), shape)

    return printer


def _literal(value: object, name: str) -> str:
    """An attribute as Python writes it."""
    if isinstance(value, tuple | list):
        items = [_literal(item, name) for item in cast("tuple[object, ...]", tuple(value))]  # pyright: ignore[reportUnknownArgumentType]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    raise ShardcError(f"{name} has an attribute that a spelling cannot show: {type(value).__name__}")
