"""Elementwise operations as the .shard language spells them.

Where the reader would make another operation of the text, as for another dtype or an attribute that the
language does not state, `op("…")` is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shardc.backend.python.elementwise import applied, is_operator
from shardc.backend.python.expressions import Expr, call
from shardc.backend.python.printers import Printed, Printer
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import common_shape
from shardc.backend.shard.raw import operation
from shardc.graph import Node, is_float, is_inexact, is_integer
from shardc.graph.program import own_attrs
from shardc.ops import OpDef
from shardc.ops.definition import Takes

Accepts = Callable[[str], bool]


def is_signed(dtype: str) -> bool:
    return is_float(dtype) or (is_integer(dtype) and not dtype.startswith("u"))


def is_number(dtype: str) -> bool:
    return is_inexact(dtype) or is_integer(dtype)


def is_logical(dtype: str) -> bool:
    return dtype == "bool" or is_integer(dtype)


def is_any(dtype: str) -> bool:
    return True


def operands(scope: Scope, node: Node, first: int = 0) -> list[Expr]:
    """Texts that broadcast to the result's shape; at least one of those from `first` on has a dtype."""
    terms = [scope.term(value) for value in node.operands]
    exprs = [term.expr for term in terms]
    shape = scope.type(node.results[0]).shape
    if all(term.weak for term in terms[first:]) or common_shape(term.shape for term in terms) != shape:
        exprs[first] = scope.expr(node.operands[first])
    return exprs


def elementwise(make: Callable[..., Expr], accepts: Accepts) -> Printer:
    """A printer of an elementwise operation without attributes, on the dtypes that `accepts` says."""

    def printer(scope: Scope, node: Node) -> Printed:
        if own_attrs(node) or not accepts(scope.type(node.operands[0]).dtype):
            return operation(scope, node)
        if len(node.operands) == 1:
            return make(scope.expr(node.operands[0]))
        return make(*operands(scope, node))

    return printer


def function(name: str, accepts: Accepts = is_float) -> Printer:
    return elementwise(partial(call, name), accepts)


def operator(symbol: str, accepts: Accepts) -> Printer:
    return elementwise(partial(applied, symbol), accepts)


def word(definition: OpDef) -> str | None:
    """The built-in or the operator that writes an operation; None where a printer says more."""
    spelling = definition.spelling
    if spelling.jax is None:
        return None
    return spelling.jax if is_operator(spelling.jax) else spelling.language


def spelled(definition: OpDef) -> Printer | None:
    """The printer that a definition's spelling is enough for. The language's operators are Python's."""
    text = word(definition)
    if text is None:
        return None
    if is_operator(text):
        return operator(text, is_logical if text in _BITWISE else is_number)
    return function(text, _ACCEPTS[definition.spelling.takes])


_BITWISE = {"&", "|", "^", "~"}
_ACCEPTS: dict[Takes, Accepts] = {
    Takes.FLOATS: is_inexact,
    Takes.ROUNDS: is_float,
    Takes.NUMBERS: is_number,
    Takes.ALIKE: is_any,
    Takes.TRUTHS: is_logical,
}
"""The dtypes of which the built-in makes the operation, and nothing besides."""
