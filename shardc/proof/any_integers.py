"""Which integer arguments may be any number of their dtype: those that nothing is found or counted by.

Indices, sizes of groups and bounds of loops are small in what programs are for; numbers that are only
computed with, as bits are, are told apart by large ones alone (x >> 5 and x >> 6 of what is below 8 are 0).
"""

from __future__ import annotations

from shardc.graph import Graph
from shardc.graph.types import is_inexact
from shardc.ops import Trait, has, hlo

_COMPUTES = (Trait.ELEMENTWISE, Trait.MOVES, Trait.IDENTITY, Trait.PRODUCT, Trait.TERMINATOR)


def any_integers(whole: Graph) -> list[bool]:
    """For each argument of the entry, whether all that follows from it is arithmetic."""
    args = whole.main.body.args
    return [_free(whole, arg) if _is_integer(whole, arg) else False for arg in args]


def _is_integer(graph: Graph, value: int) -> bool:
    dtype = graph.type(value).dtype
    return dtype != "bool" and not is_inexact(dtype)


def _free(graph: Graph, arg: int) -> bool:
    known = {arg}
    for node in graph.main.body.nodes:
        if known.isdisjoint(node.operands):
            continue
        if node.name != hlo.reduce.name and not has(node.name, *_COMPUTES):
            return False
        known.update(node.results)
    return True
