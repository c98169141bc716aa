"""Loops of which it is known as a program is read that they take no turn, or one.

    %0:2 = stablehlo.while(%i = %zero, %h = %x) cond { %i < 1 } do { %1 = %i + 1, %2 = tanh %h, return both }

is its body: `jax.lax.scan` over one layer, one microbatch or one rule is lowered to such a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from shardc.dialects.shardings import SHARDING
from shardc.ops import hlo
from shardc.rewrite.known_elements import known_element


def known_turns(op: Operation) -> int | None:
    """0 or 1 where a loop takes so many turns; None of one that may take more or states how what it carries
    is split, and of other operations."""
    if op.name != hlo.while_.name or SHARDING in op.attributes:
        return None
    cond, body = (region.block for region in op.regions)
    again = _again(cond, op.operands, {})
    if not again:
        return None if again is None else 0
    end = body.last_op
    assert end is not None
    first = _elements(body.args, op.operands, {}, _tested(cond))
    return 1 if _again(cond, end.operands, first) is False else None


def _again(cond: Block, carried: Sequence[SSAValue], given: Mapping[SSAValue, Any]) -> bool | None:
    """Whether a loop's condition holds of what it carries; None where data decide."""
    end = cond.last_op
    assert end is not None
    known = known_element(end.operands[0], _elements(cond.args, carried, given, _tested(cond)))
    return None if known is None else bool(known)


def _tested(cond: Block) -> list[int]:
    """The places of what a loop's condition reads."""
    return [index for index, value in enumerate(cond.args) if value.uses]


def _elements(
    args: Sequence[SSAValue], values: Sequence[SSAValue], given: Mapping[SSAValue, Any], places: Sequence[int]
) -> dict[SSAValue, Any]:
    """What arguments of a block are, of those that are known where values are given to it."""
    elements = {args[index]: known_element(values[index], given) for index in places}
    return {value: element for value, element in elements.items() if element is not None}
