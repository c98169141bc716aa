"""The link that an operation is in propagation: its rule, and what its kind allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from shardc.graph import Graph, Node, Op
from shardc.ops import op_of, sdy
from shardc.ops.rule import FactorRule
from shardc.propagation.direction import Direction
from shardc.propagation.flow import Link, identity_rule

Rules = Callable[[Op], FactorRule | None]


def link_of(node: Node, graph: Graph, rules: Rules) -> Link | None:
    """The link of an operation without edges; None if it propagates nothing."""
    return _LINKS.get(node.name, _link_by_rule)(node, graph, rules)


def no_rule(node: Node) -> FactorRule:
    """Propagates nothing."""
    return FactorRule((), ((),) * len(node.operands), ((),) * len(node.results))


def _link_by_rule(node: Node, graph: Graph, rules: Rules) -> Link | None:
    custom = cast("FactorRule | None", node.attrs.get("sdy.sharding_rule"))
    rule = custom or rules(op_of(graph, node))
    if rule is None or not rule.factors:
        return None
    kind = str(node.attrs.get("call_target_name", node.name))
    return Link(rule, kind, node)


def _identity(node: Node, graph: Graph, rules: Rules) -> Link | None:
    return Link(identity_rule(graph.type(node.operands[0])), node.name, node)


def _barrier(node: Node, graph: Graph, rules: Rules) -> Link | None:
    fixed = Direction[str(node.attrs["allowed_direction"])]
    return Link(identity_rule(graph.type(node.operands[0])), node.name, node, fixed=fixed)


def _nothing(node: Node, graph: Graph, rules: Rules) -> Link | None:
    return None


_LINKS: dict[str, Callable[[Node, Graph, Rules], Link | None]] = {
    sdy.propagation_barrier.name: _barrier,
    sdy.reshard.name: _nothing,
    sdy.sharding_constraint.name: _identity,
}
