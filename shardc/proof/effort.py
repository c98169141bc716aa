"""How much work a proof is: before it, of a program, and while it runs.

The unit is an element that is computed. An operation takes as long as 1,000 of them, an element of a sort as
2,048, one that a reduction combines as one for each operation of its body, and one of a product as a 16th for
each multiplication and addition. What is decided on floats, and a cast to 8 bits, takes four times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import cast

from msgspec import Struct

from shardc.analysis.loops import Constants, counted
from shardc.graph import FP8, Graph, Node, Region, walk
from shardc.graph.types import is_inexact
from shardc.ops import Trait, chlo, find, func, has, hlo, op_of, sdy, spmd
from shardc.proof.values import Beyond
from shardc.proof.window_folds import FOLDS

OPERATION, APART, BLOCK = 1000, 4, 256
"""An operation takes as long as so many elements; so many devices compute it apart, others share it. A block
that a collective adds takes as long as so many.
"""

TRIPS, SORT, PRODUCTS, DECISION = 64, 2048, 16, 4
"""How often a loop is taken to run that does not count, what an element of a sort is taken for, how many
operations of a product take as long as an element, and what something decided on floats is taken for.
"""


FOUND = 100
"""An operation of the global program takes as long as so many elements before anything is drawn: it may be
one of equal layers, and its shapes are reduced."""


def operations(*graphs: Graph) -> int:
    """How many operations programs have, those of functions once."""
    functions = [function for graph in graphs for function in graph.functions.values()]
    return sum(1 for function in functions for _ in walk(function.body))


def effort(graph: Graph, dealt: Collection[int] = ()) -> int:
    """The work of running a program on all devices once; the results of calls in `dealt` are not computed."""
    return _sum(graph, dealt, lambda node, on: own(graph, node, on))


def least(graph: Graph, dealt: Collection[int] = ()) -> int:
    """Work that there is however short the axes are: that of operations. Loops turn as often then."""
    return _sum(graph, dealt, lambda node, on: OPERATION * min(on, APART))


def work(graph: Graph) -> int:
    """The elements that all operations compute, on all devices; loops count once."""
    devices = max((mesh.size for mesh in graph.meshes.values()), default=1)
    inside = {
        node.id
        for function in graph.functions.values()
        for outer in walk(function.body)
        if outer.name == sdy.manual_computation.name
        for node in walk(outer.regions[0])
    }
    total = 0
    for function in graph.functions.values():
        for node in walk(function.body):
            each = sum(prod(graph.type(value).shape) for value in node.results)
            total += each * (devices if node.id in inside else 1)
    return total


def _sum(graph: Graph, dealt: Collection[int], each: Callable[[Node, int], int]) -> int:
    """What `each` operation is on so many devices, all together, those of a loop's body in every turn."""
    devices = max((mesh.size for mesh in graph.meshes.values()), default=1)
    constants = Constants(graph)

    def of_region(region: Region, on: int) -> int:
        return sum(of_node(node, on) for node in region.nodes)

    def of_node(node: Node, on: int) -> int:
        if node.name == func.call.name and node.id not in dealt:
            return of_region(graph.functions[str(node.attrs["callee"])].body, on)
        if node.name == hlo.while_.name:
            counts = counted(node, constants)
            return (TRIPS if counts is None else counts.trips) * of_region(node.regions[1], on)
        inside = devices if node.name == sdy.manual_computation.name else on
        return each(node, on) + sum(
            of_region(r, inside) for r in node.regions if has(node.name, Trait.REGION)
        )

    return of_region(graph.main.body, 1)


def own(graph: Graph, node: Node, on: int) -> int:
    """The work of an operation on so many devices, without its regions, but with the bodies of reductions."""
    each, times = sum(graph.type(value).size for value in node.results), 1
    if node.name in (hlo.sort.name, chlo.top_k.name):
        each, times = each * (SORT if node.regions else 1), _turns_of_sort(graph, node)
    elif node.name in (hlo.dot_general.name, hlo.convolution.name):
        definition = find(node.name)
        assert definition is not None
        each += definition.work.operations(op_of(graph, node)) // PRODUCTS
    elif node.name in _COMBINING:
        elements, turns, steps = _combining(graph, node)
        each, times = each + elements * steps, 1 + turns * steps
    elif _decides(graph, node):
        each, times = each * DECISION, DECISION
    blocks = on if node.name in _ADDING else 0
    return on * each + OPERATION * times * min(on, APART) + BLOCK * blocks


_ADDING = {definition.name for definition in (spmd.all_reduce, spmd.reduce_scatter)}

_DECIDING = {definition.name for definition in (hlo.maximum, hlo.minimum, hlo.compare, hlo.clamp)}


def _decides(graph: Graph, node: Node) -> bool:
    """Whether it is decided by the order of floats, or looks numbers up as casts to 8 bits do."""
    if node.name == hlo.convert.name:
        return graph.type(node.results[0]).dtype in FP8
    return node.name in _DECIDING and is_inexact(graph.type(node.operands[0]).dtype)


def _turns_of_sort(graph: Graph, node: Node) -> int:
    """The operations on arrays that a merge sort is: elements are searched for in runs that double."""
    shape = graph.type(node.operands[0]).shape
    dim = cast(int, node.attrs.get("dimension", len(shape) - 1))
    bits = shape[dim].bit_length() if shape else 1
    body = len(node.regions[0].nodes) - 1 if node.regions else DECISION
    return 1 + bits * (bits + 1) // 2 * body


_COMBINING = {definition.name for definition in (hlo.reduce, hlo.reduce_window, hlo.select_and_scatter)}


def _combining(graph: Graph, node: Node) -> tuple[int, int, int]:
    """The elements that a reduction combines in all, in how many turns, and the operations of a turn."""
    op = op_of(graph, node)
    selects = node.name == hlo.select_and_scatter.name
    known = len(node.results) == 1 and op.combiner in FOLDS and not selects
    body = 1 if known else max(1, len(node.regions[0].nodes) - 1)
    size, result = op.operands[0].size, max(1, op.results[0].size)
    if node.name == hlo.reduce.name:
        window = max(1, size // result)
    else:
        window = prod(cast("Sequence[int]", node.attrs.get("window_dimensions") or ()))
        result = op.operands[1].size if selects else result
        size = result * (2 * window.bit_length() if known else window)
    summed = node.name == hlo.reduce.name and known and op.combiner == "sum"
    return (0, 0, 0) if summed else (size, window if selects else window.bit_length(), body)


def beyond(size: str, most: int) -> str:
    """Why a program of some size is not proved unless that is asked for."""
    return f"its work is that of {size}, and up to {most:,} are proved unasked"


class Budget(Struct):
    """The work that a proof may be in all; what each operation is, by node, is found once."""

    most: int
    spent: int = 0
    known: dict[tuple[int, int, int], int] = {}

    def fits_again(self, draws: int) -> bool:
        """Whether there is as much left as each of so many draws took."""
        return self.spent * (draws + 1) <= self.most * draws

    def spend(self, graph: Graph, node: Node, on: int) -> None:
        """Raises Beyond where that is more than there is."""
        key = id(graph), node.id, on
        if key not in self.known:
            self.known[key] = own(graph, node, on)
        self.spent += self.known[key]
        if self.spent > self.most:
            raise Beyond(f"draws of more than {self.most:,} elements in all")
