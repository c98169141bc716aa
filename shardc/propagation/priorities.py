"""Op priorities: which operations shardings flow through in each of five rounds.

Cheap and certain things first: what one elementwise operation says about its operands is settled before a
contraction or a broadcast has its say. Every round allows what the rounds before it allowed, and more.
"""

from __future__ import annotations

from shardc.ops import Trait, has, hlo, sdy
from shardc.ops.rule import FactorRule, Kind
from shardc.propagation.direction import Direction, Directions

ROUNDS = 5

EDGE = sdy.data_flow_edge.name

_ANNOTATED = frozenset({sdy.propagation_barrier.name, sdy.sharding_constraint.name})
_BOTH_WAYS = frozenset({hlo.reshape.name, hlo.transpose.name, EDGE, "MoveToHost", "MoveToDevice"})
_FORWARD = frozenset({hlo.dynamic_slice.name, hlo.dynamic_update_slice.name})


def is_elementwise(name: str) -> bool:
    """Whether Shardy counts an operation among the elementwise ones."""
    return has(name, Trait.ELEMENTWISE) or name in _ANNOTATED


def directions(rule: FactorRule, name: str, round: int | None, shared: bool) -> Directions:
    """The direction of every factor in a round; None stands for no rounds, everything at once.

    `name` is the operation's, a custom call's target, or EDGE. `shared` says that an operand has another use:
    then the first round leaves the operation alone, so as not to favour one use over the other.
    """
    whole = _of_operation(name, round, shared)
    return tuple(
        Direction.NONE
        if factor.blocked
        else whole | (_of_factor(name) if round == 2 and factor.kind is Kind.PASS else Direction.NONE)
        for factor in rule.factors
    )


def _of_operation(name: str, round: int | None, shared: bool) -> Direction:
    if round is None or round >= 4:
        return Direction.BOTH
    allowed = Direction.NONE
    if round >= 3:
        allowed |= _of_factor(name)
    if round >= 1 or not shared:
        allowed |= _of_pass_through(name)
    return allowed


def _of_pass_through(name: str) -> Direction:
    """Operations that move no data between elements."""
    if is_elementwise(name) or name in _BOTH_WAYS:
        return Direction.BOTH
    return Direction.FORWARD if name in _FORWARD else Direction.NONE


def _of_factor(name: str) -> Direction:
    """A broadcast may only tell its operand what the result wants, until the last round."""
    return Direction.BACKWARD if name == hlo.broadcast_in_dim.name else Direction.BOTH
