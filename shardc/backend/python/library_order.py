"""Orders and counts: `jnp.argsort(x, axis=1)`, `jnp.bincount(x, length=8)`."""

from __future__ import annotations

from typing import cast

from shardc.backend.python import idiom
from shardc.backend.python.extremes import counting, dimension_of
from shardc.backend.python.library_indexing import put
from shardc.backend.python.library_run import Found, Run
from shardc.backend.python.sorting import Order, order_of
from shardc.graph import Node
from shardc.ops import hlo


def argsort(run: Run, node: Node) -> Node:
    """The places alone, in ascending order; `matching` is for nodes with all results of the last."""
    run.same((len(node.operands), run.program.count.get(node.results[0], 0)), (2, 0))
    inside = {value: each for each in node.regions[0].nodes for value in each.results}
    run.same(order_of(node, run.program.graph, inside), Order(1, False, False))
    x, places = node.operands
    run.same(run.program.graph.type(places).dtype in ("i32", "i64"), True)
    axis = cast(int, node.attrs.get("dimension", len(run.shape(x)) - 1))
    run.same(dimension_of(run, places, counting(run, places)), axis)
    return Node(node.id, idiom.argsort.name, (x,), node.results[1:], {"axis": axis}, (), node.loc)


def bincount(run: Run, node: Node) -> Found:
    """Numbers below 0 count as 0, those beyond the end as nothing."""
    _, (table, numbers, ones), attrs = put(run, node)
    run.same((attrs["kind"], attrs.get("wraps")), ("sum", True))
    run.same((len(run.shape(table)), len(run.shape(numbers))), (1, 1))
    run.same(run.program.graph.type(table).dtype in ("i32", "i64"), True)
    run.same((run.number(table), run.number(ones)), (0, 1))
    apart = Run(run.program)
    x = apart.other(apart.node(numbers, hlo.maximum), 0)
    return idiom.bincount, [x], {"length": run.shape(table)[0]}
