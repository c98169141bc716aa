"""SBP signatures: which splits, copies and partial results an operation maps to which, without communication.

They are OneFlow's view of a factor rule. Over one axis of the devices, each operand and result is split along
a dimension, S(i), whole, B, or partial, P:

    matmul   ([i, k], [k, j])->([i, j])     S(0) B -> S(0)      factor i
                                            B S(1) -> S(1)      factor j
                                            S(1) S(0) -> P      factor k, a reduction
                                            P B -> P, B P -> P  it is linear in each operand
                                            B B -> B            always

On a hierarchy of several axes, any signature holds for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from shardc.graph.program import Graph, Node, Op
from shardc.layout.notations.per_axis import Component, Copy, Partial, Split
from shardc.ops import hlo, op_of
from shardc.ops.registry import rule_of
from shardc.ops.rule import Dims, FactorRule, Kind


class Signature(Struct, frozen=True):
    """What each operand and result is over one axis of devices.

    A number of devices that doesn't divide `divides` cannot use it: a factor that shares its dimension with
    others (8 of reshape's 8x4 -> 32) must be split evenly. 0 if any number can.
    """

    operands: tuple[Component, ...]
    results: tuple[Component, ...]
    divides: int = 0


def signatures(op: Op, kinds: Sequence[str] = ("sum",), made: bool = False) -> tuple[Signature, ...]:
    """All signatures of an operation: splits by factor, then partial results, then all copies.

    `kinds` are the partial results there are; OneFlow has only sums. An operation without a rule has copies.
    With `made`, so do those that split what the operation makes: B -> S(0) of a broadcast to a new dimension.
    """
    rule = rule_of(op)
    copies = Signature((Copy(),) * len(op.operands), (Copy(),) * len(op.results))
    if rule is None:
        return (copies,)
    found = [*_splits(rule, kinds, made), *(s for kind in kinds for s in _flows(rule, kind)), copies]
    return tuple(dict.fromkeys(found))


def program_signatures(graph: Graph, kinds: Sequence[str] = ("sum",)) -> tuple[Signature, ...]:
    """The signatures of a whole function, main: those of its operations that fit together without resharding.

    Constants are whatever their users want: every device has them. Loops, calls and whatever else has no rule
    are whole. Not listed is what splits results of which every device could have all.
    """
    body = graph.main.body
    nodes = [node for node in body.nodes if not node.name.endswith("return")]
    states = _handed_on(graph, nodes, kinds)
    for number, node in enumerate(nodes):
        if node.name == hlo.constant.name:
            continue
        later = {v for other in nodes[number + 1 :] for v in other.operands}
        needed = later | set(body.args) | set(body.results)
        states = _joined(states, node, signatures(op_of(graph, node), kinds, made=True), needed)
    found = [
        Signature(
            tuple(state.get(v, Copy()) for v in body.args),
            tuple(state.get(v, Copy()) for v in body.results),
            divides,
        )
        for state, divides in states
    ]
    whole = (Copy(),) * len(body.args)
    return tuple(s for s in dict.fromkeys(found) if s.operands != whole or _is_whole(s.results))


def _handed_on(graph: Graph, nodes: Sequence[Node], kinds: Sequence[str]) -> list[_State]:
    """What operands may be that are results as they are, and that no operation reads: anything."""
    body = graph.main.body
    read = {v for node in nodes for v in node.operands}
    states: list[_State] = [({}, 0)]
    for operand in body.args:
        if operand in body.results and operand not in read:
            splits = (Split(dim) for dim in range(graph.type(operand).rank))
            options = [*splits, *map(Partial, kinds), Copy()]
            states = [({**known, operand: option}, 0) for known, _ in states for option in options]
    return states


def _is_whole(components: Sequence[Component]) -> bool:
    return all(isinstance(component, Copy) for component in components)


_State = tuple[dict[int, Component], int]
"""What is known of each value, and what must divide."""


def _joined(
    states: Iterable[_State], node: Node, options: Iterable[Signature], needed: set[int]
) -> list[_State]:
    found: dict[object, _State] = {}
    values = (*node.operands, *node.results)
    for state, divides in states:
        for option in options:
            merged = _merged(state, values, (*option.operands, *option.results))
            if merged is not None:
                kept = {value: merged[value] for value in merged if value in needed}
                both = _both(divides, option.divides)
                found.setdefault((frozenset(kept.items()), both), (kept, both))
    return list(found.values())


def _merged(
    state: dict[int, Component], values: Sequence[int], components: Sequence[Component]
) -> dict[int, Component] | None:
    merged = dict(state)
    for value, component in zip(values, components, strict=True):
        if merged.setdefault(value, component) != component:
            return None
    return merged


def _both(a: int, b: int) -> int:
    return a or b if not (a and b) else min(a, b)


def _splits(rule: FactorRule, kinds: Sequence[str], made: bool) -> Iterator[Signature]:
    for index, factor in enumerate(rule.factors):
        held = [_place(dims, index, rule) for dims in rule.tensors]
        if not factor.is_plain or None in held or not any(held if made else held[: len(rule.operands)]):
            continue
        operands = [_split(place) for place in held[: len(rule.operands)]]
        results = [_split(place) for place in held[len(rule.operands) :]]
        if factor.kind is Kind.REDUCTION:
            if rule.reduction is None or rule.reduction not in kinds:
                continue
            partial = Partial(rule.reduction)
            operands = [partial if i in rule.once else held for i, held in enumerate(operands)]
            results = [partial if isinstance(held, Copy) else held for held in results]
        elif any(isinstance(held, Copy) for held in results):
            continue
        alone = all(place[1] for place in held if place)
        yield Signature(tuple(operands), tuple(results), 0 if alone else factor.size)


def _flows(rule: FactorRule, kind: str) -> Iterator[Signature]:
    for group, result in rule.flows(kind):
        operands = [Partial(kind) if i in group else Copy() for i in range(len(rule.operands))]
        yield Signature(tuple(operands), (Partial(result),) * len(rule.results))


def _place(dims: Dims, index: int, rule: FactorRule) -> tuple[int, bool] | tuple[()] | None:
    """The dimension that the factor is the major one of, and whether it is alone in it.

    () if the tensor doesn't have it; None if another factor is major to it, so that no S(i) splits it.
    """
    for dim, factors in enumerate(dims):
        if index in factors:
            others = [f for f in factors[: factors.index(index)] if rule.factors[f].size > 1]
            return None if others else (dim, all(f == index or rule.factors[f].size == 1 for f in factors))
    return ()


def _split(place: tuple[int, bool] | tuple[()] | None) -> Component:
    return Split(place[0]) if place else Copy()
