"""The link that an operation is in propagation: its rule, and what its kind allows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import cast

from msgspec.structs import replace

from shardc.graph import Graph, Node, Op, walk
from shardc.ops import hlo, op_of, sdy
from shardc.ops.rule import FactorRule, Kind
from shardc.propagation.direction import Direction
from shardc.propagation.flow import Link, identity_rule

Rules = Callable[[Op], FactorRule | None]


def link_of(node: Node, graph: Graph, rules: Rules, seeds: Collection[int] = ()) -> Link | None:
    """The link of an operation without edges; None if it propagates nothing. `seeds`: see there."""
    link = _LINKS.get(node.name, _link_by_rule)(node, graph, rules)
    if link is not None and combines_seed(node, seeds) and "sdy.sharding_rule" not in node.attrs:
        link.rule = kept_whole(link.rule)
    return link


def seeds(graph: Graph) -> set[int]:
    """The values that are states of random number generators."""
    return {
        node.operands[0]
        for function in graph.functions.values()
        for node in walk(function.body)
        if node.name == hlo.rng_bit_generator.name
    }


def combines_seed(node: Node, seeds: Collection[int]) -> bool:
    """Whether an operation makes the state of a generator out of halves: it is as whole as that state."""
    return node.attrs.get("call_target_name") == "X64Combine" and node.results[0] in seeds


def kept_whole(rule: FactorRule) -> FactorRule:
    """The rule with all dimensions whole, and nothing let through."""
    factors = (replace(factor, kind=Kind.REPLICATE, blocked=True) for factor in rule.factors)
    return replace(rule, factors=tuple(factors))


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
