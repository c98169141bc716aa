"""Arrays that NumPy's operators write their results into: large ones that nothing holds, not even a name.

    t = x + y                  return (x + y) - z
    return t - z

The left makes two arrays, the right one: https://numpy.org/doc/1.13/release.html, "temporary elision". The
other operand is an array of the same shape, or a number whose dtype is no wider: Python's own have 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from shardc.backend.python.elementwise import exactness, is_operator
from shardc.graph import Graph, Node
from shardc.ops import find, hlo

ELISION = 256 * 1024
"""Bytes from which on an array is written over."""

COMMUTING = frozenset(("+", "*", "&", "|", "^"))
"""Operators that write into either operand; others only into the first."""

PYTHON = frozenset(("f64", "i64", "c128"))
"""The dtypes of arrays that are written over beside a number of Python's."""

_OTHERS = frozenset(("-", "/", "~", "<<", ">>"))


def symbol_of(name: str) -> str | None:
    """The operator that an operation is written with, where it is for all dtypes."""
    definition = find(name)
    text = None if definition is None else definition.spelling.numpy
    return text if text is not None and is_operator(text) else None


def written_over(graph: Graph, made: Mapping[int, Node], value: int, user: Node) -> bool:
    """Whether an operation's result goes where an operand's is, if that is an array which nothing holds.
    `made` says what makes each value."""
    type = graph.type(value)
    if type.nbytes < ELISION or len(user.results) != 1 or graph.type(user.results[0]) != type:
        return False
    divides = user.name == hlo.divide.name and exactness(type.dtype) == "inexact"
    symbol = "/" if divides else symbol_of(user.name)
    if symbol not in COMMUTING and (symbol not in _OTHERS or user.operands[0] != value):
        return False
    return all(_fits(other, made, type.dtype) for other in user.operands if other != value)


def _fits(value: int, made: Mapping[int, Node], dtype: str) -> bool:
    """Whether a value is written in its whole shape, or as a number that is no wider than the dtype."""
    node = made.get(value)
    if node is not None and node.name == hlo.broadcast_in_dim.name:
        node = made.get(node.operands[0])
        return dtype in PYTHON and node is not None and node.name == hlo.constant.name
    return dtype in PYTHON or node is None or node.name not in (hlo.constant.name, hlo.iota.name)
