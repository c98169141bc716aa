"""From the operation that makes a partial result to the reduction that ends it.

A partial result *goes straight* to its reduction if nothing happens to it but operations on it alone, through
which it stays partial. Such a result needs no declaration: the reduction tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from shardc.graph import Graph, Node
from shardc.layout import Axis
from shardc.layout.sharding import KINDS
from shardc.rules.table import rule_of

ENDS = ("spmd.all_reduce", "spmd.reduce_scatter")

Users = Mapping[int, Sequence[Node]]
"""The operations that take a value, once for each time they do."""


def users_of(nodes: Iterable[Node]) -> dict[int, list[Node]]:
    """Who takes the values of some code."""
    users: dict[int, list[Node]] = {}
    for node in nodes:
        for value in node.operands:
            users.setdefault(value, []).append(node)
    return users


def natural_kind(graph: Graph, node: Node) -> str:
    """The kind of the local results of an operation: a reduction's own; else one device has each element.

    The others hold zeros then.
    """
    rule = rule_of(graph.op(node))
    rest = "max" if graph.type(node.results[0]).dtype == "bool" else "sum"
    return (rule and rule.reduction) or rest


def goes_straight(graph: Graph, users: Users, value: int, axes: Iterable[Axis], kind: str) -> bool:
    """Whether all that becomes of a value that is partial over the axes is reduced over all of them."""
    for user in users.get(value, ()):
        if user.name in ENDS:
            if user.attrs["kind"] != kind or not covers(user, axes):
                return False
            continue
        after = kind_after(graph, user, kind)
        if after is None or not goes_straight(graph, users, user.results[0], axes, after):
            return False
    return True


def covers(end: Node, axes: Iterable[Axis]) -> bool:
    """Whether a collective runs over all of the axes."""
    own = cast("tuple[Axis, ...]", end.attrs["axes"])
    return all(any(other.contains(axis) for other in own) for axis in axes)


def kind_after(graph: Graph, node: Node, kind: str) -> str | None:
    """The kind of what an operation makes of one partial result; None if it takes more, or isn't linear."""
    if len(node.operands) != 1 or len(node.results) != 1 or node.name.startswith("spmd."):
        return None
    rule = rule_of(graph.op(node))
    flows = rule.flows(kind) if rule else ()
    return next((after for group, after in flows if 0 in group), None)


def kind_before(graph: Graph, node: Node, kind: str) -> str | None:
    """The kind of the operand of which an operation makes a partial result of this one."""
    return next((before for before in KINDS if kind_after(graph, node, before) == kind), None)
