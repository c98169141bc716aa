"""Arrays that NumPy's operators write their results into: large ones that nothing holds, not even a name.

    t = x + y                  return (x + y) / 3.0
    return t / 3.0

The left makes two arrays, the right one: https://numpy.org/doc/1.13/release.html, "temporary elision".
"""

from __future__ import annotations

from shardc.backend.python.elementwise import exactness, is_operator
from shardc.graph import Graph, Node
from shardc.ops import find, hlo

ELISION = 256 * 1024
"""Bytes from which on an array is written over."""

COMMUTING = frozenset(("+", "*", "&", "|", "^"))
"""Operators that write into either operand; others only into the first."""

_OTHERS = frozenset(("-", "/", "~", "<<", ">>"))


def symbol_of(name: str) -> str | None:
    """The operator that an operation is written with, where it is for all dtypes."""
    definition = find(name)
    text = None if definition is None else definition.spelling.numpy
    return text if text is not None and is_operator(text) else None


def written_over(graph: Graph, value: int, user: Node) -> bool:
    """Whether an operation's result goes where an operand's is, if that is an array which nothing holds."""
    type = graph.type(value)
    if type.nbytes < ELISION or len(user.results) != 1 or graph.type(user.results[0]) != type:
        return False
    divides = user.name == hlo.divide.name and exactness(type.dtype) == "inexact"
    symbol = "/" if divides else symbol_of(user.name)
    return symbol in COMMUTING or (symbol in _OTHERS and user.operands[0] == value)
