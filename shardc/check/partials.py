"""From the operation that makes a partial result to the reduction that ends it.

A partial result *goes straight* to its reduction if nothing happens to it but operations on it and constants,
through which it stays partial. Such a result needs no declaration: the reduction tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from shardc.graph import Graph, Node
from shardc.graph.marks import PARTIAL_KIND
from shardc.layout import Axis
from shardc.layout.sharding import KINDS
from shardc.ops import Trait, has, hlo, op_of
from shardc.ops.registry import rule_of


def natural_kind(graph: Graph, node: Node) -> str:
    """The kind of the partial results of an operation: a reduction's own, else what the program declares.

    Without either one device has each element, and the others hold zeros.
    """
    rule = rule_of(op_of(graph, node))
    rest = "max" if graph.type(node.results[0]).dtype == "bool" else "sum"
    return (rule and rule.reduction) or str(node.attrs.get(PARTIAL_KIND, rest))


class Paths:
    """Where the values of some code come from and go to."""

    def __init__(self, graph: Graph, nodes: Iterable[Node]) -> None:
        self.graph = graph
        self.makers: dict[int, Node] = {}
        self.users: dict[int, list[Node]] = {}
        for node in nodes:
            self.makers.update(dict.fromkeys(node.results, node))
            for value in node.operands:
                self.users.setdefault(value, []).append(node)

    def goes_straight(self, value: int, axes: Iterable[Axis], kind: str) -> bool:
        """Whether all that becomes of a value that is partial over the axes is reduced over all of them."""
        for user in self.users.get(value, ()):
            if has(user.name, Trait.COMBINES):
                if user.attrs["kind"] != kind or not _covers(user, axes):
                    return False
                continue
            after = self.kind_after(user, kind)
            if after is None or not self.goes_straight(user.results[0], axes, after):
                return False
        return True

    def last_of_chain(self, value: int, kind: str) -> tuple[int, str]:
        """What operations on a value alone make of it in the end, and the kind that it has there."""
        while len(takers := self.users.get(value, ())) == 1 and len(takers[0].operands) == 1:
            after = self.kind_after(takers[0], kind)
            if after is None:
                break
            value, kind = takers[0].results[0], after
        return value, kind

    def kind_after(self, node: Node, kind: str) -> str | None:
        """The kind of what an operation makes of a partial operand; None if not linear in it alone."""
        index = self.carried(node)
        if index is None or len(node.results) != 1 or has(node.name, Trait.ALONG_AXES):
            return None
        rule = rule_of(op_of(self.graph, node))
        flows = rule.flows(kind) if rule else ()
        return next((after for group, after in flows if group == frozenset((index,))), None)

    def kind_before(self, node: Node, kind: str) -> str | None:
        """The kind of the operand of which an operation makes a partial result of this one."""
        return next((before for before in KINDS if self.kind_after(node, before) == kind), None)

    def carried(self, node: Node) -> int | None:
        """The index of the only operand that is no constant."""
        moving = [i for i, value in enumerate(node.operands) if not self.is_constant(value)]
        return moving[0] if len(moving) == 1 else None

    def is_constant(self, value: int) -> bool:
        """Whether a value is a constant, broadcast or not."""
        maker = self.makers.get(value)
        while maker is not None and maker.name == hlo.broadcast_in_dim.name:
            maker = self.makers.get(maker.operands[0])
        return maker is not None and maker.name == hlo.constant.name


def _covers(end: Node, axes: Iterable[Axis]) -> bool:
    """Whether a collective runs over all of the axes."""
    own = cast("tuple[Axis, ...]", end.attrs["axes"])
    return all(any(other.contains(axis) for other in own) for axis in axes)
