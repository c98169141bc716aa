"""How states pass operations that don't communicate: what varies spreads, what is partial needs linearity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from shardc.check.partials import natural_kind
from shardc.check.site import CheckedOp
from shardc.check.state import REDUCERS, SAME, State
from shardc.diagnostics import ShardcError
from shardc.graph import Node
from shardc.graph.marks import PARTIAL_KIND, PARTIAL_OVER
from shardc.layout import Axis
from shardc.ops import op_of
from shardc.ops.registry import rule_of
from shardc.ops.rule import FactorRule


def plain(site: CheckedOp) -> list[State]:
    """Results vary over what any operand varies over, and are partial where the operation is linear."""
    whole = without_partials(site.node, site.known)
    if whole is not None:
        return whole
    varies = frozenset[Axis]().union(*[state.varies for state in site.states])
    partial = frozenset[Axis]().union(*[state.partial for state in site.states])
    rule = rule_of(op_of(site.graph, site.node))
    marked = site.parts.named(cast(tuple[str, ...], site.node.attrs.get(PARTIAL_OVER, ())))
    flowing = sorted(partial.difference(marked), key=site.parts.mesh.order)
    kinds = {axis: _through(site, rule, axis) for axis in flowing}
    kinds |= dict.fromkeys(sorted(marked), natural_kind(site.graph, site.node) if marked else "")
    if len(set(kinds.values())) > 1:
        said = " and ".join(f"a partial {kind} over {site.parts.text([a])}" for a, kind in kinds.items())
        raise site.error(f"the result of {site.op_name} would be {said}: {site.operands()}")
    kind = next(iter(kinds.values()), "sum")
    if PARTIAL_KIND in site.node.attrs and kinds:  # none over axes of size 1
        _check_declared(site, str(site.node.attrs[PARTIAL_KIND]), kind, marked - varies - partial)
    state = State(varies - kinds.keys(), frozenset(kinds), kind, _is_zero(site, rule))
    return [state] * len(site.node.results)


def without_partials(node: Node, known: Mapping[int, State]) -> list[State] | None:
    """The states of a plain operation's results where nothing is partial or marked so; else None."""
    if PARTIAL_OVER in node.attrs or PARTIAL_KIND in node.attrs:
        return None
    varies = frozenset[Axis]()
    for value in node.operands:
        state = known.get(value, SAME)
        if state.partial or state.zero:
            return None
        if state.varies != varies:
            varies = varies | state.varies
    return [_varying(varies)] * len(node.results)


@lru_cache(maxsize=1024)
def _varying(axes: frozenset[Axis]) -> State:
    return State(axes)


def _check_declared(site: CheckedOp, declared: str, kind: str, same: frozenset[Axis]) -> None:
    """ShardcError unless a result can be partial as the program says; it is the `same` over some axes."""
    name = site.result()
    if declared != kind:
        raise site.error(f"{name} is declared a partial {declared}, and is a partial {kind}")
    if same and kind == "sum" and site.settled:
        over = site.parts.text(same)
        raise site.error(
            f"{name} is declared a partial sum over {over} and is the same there, counted once per device",
            f"leave {over} out of partial(…)",
        )


def not_partial(site: CheckedOp, why: str) -> None:
    """ShardcError if an operand is a partial result; `why` begins the text: what needs a whole value."""
    if any(state.partial for state in site.states):
        raise _partial_error(site, why)


def _through(site: CheckedOp, rule: FactorRule | None, axis: Axis) -> str:
    """The kind of the results over an axis over which some operands are partial."""
    holders = [i for i, state in enumerate(site.states) if axis in state.partial]
    kind = site.states[holders[0]].kind
    if any(site.states[i].kind != kind for i in holders):
        raise site.error(
            f"{site.op_name} combines partial results of two kinds: {site.operands(holders)}",
            _fix(site, holders),
        )
    flows = rule.flows(kind) if rule else ()
    fitting = [(group, result) for group, result in flows if group.issuperset(holders)]
    for group, result in fitting:
        if _misfit(site, axis, kind, group) is None:
            return result
    if fitting:
        raise _mixed(site, axis, holders[0], fitting[0][0])
    if flows and len(holders) > 1:
        over = site.parts.text([axis])
        raise site.error(
            f"{site.op_name} of two partial results over {over}: {site.operands(holders)}",
            _fix(site, holders[:1]),
        )
    raise _partial_error(site, f"{site.op_name} " + ("is not linear" if kind == "sum" else "is not monotone"))


def _misfit(site: CheckedOp, axis: Axis, kind: str, group: frozenset[int]) -> int | None:
    """The first operand that keeps the results from being partial over the axis."""
    for i, state in enumerate(site.states):
        if not state.is_term(axis, kind) if i in group else axis in state.varies:
            return i
    return None


def _mixed(site: CheckedOp, axis: Axis, holder: int, group: frozenset[int]) -> ShardcError:
    over, kind = site.parts.text([axis]), site.states[holder].kind
    misfit, hint = _misfit(site, axis, kind, group), _fix(site, [holder])
    other = f"a value that varies over {over}"
    if misfit is not None and misfit in group:
        name = site.name(misfit)
        if axis in site.states[misfit].varies:
            hint += f", or declare {name} partial({kind}: {over}) if its blocks are terms of the same {kind}"
        else:
            other = "a whole value"
            spoken = "…" if " " in name else name
            many = "" if kind == "sum" else f', kind="{kind}"'
            hint += f", or let one device alone count {name}: to_partial({spoken}, {over}{many})"
    return site.error(
        f"{site.op_name} combines a partial {kind} over {over} with {other}: {site.operands()}", hint
    )


def _partial_error(site: CheckedOp, why: str) -> ShardcError:
    holders = [i for i, state in enumerate(site.states) if state.partial]
    state = site.states[holders[0]]
    over = site.parts.text(state.partial)
    return site.error(
        f"{why}, but {site.operand(holders[0])} is a partial {state.kind} over {over}", _fix(site, holders)
    )


def _fix(site: CheckedOp, holders: Sequence[int]) -> str:
    """`psum x over j first`."""
    texts = [
        f"{REDUCERS[site.states[i].kind]} {site.name(i)} over {site.parts.text(site.states[i].partial)}"
        for i in dict.fromkeys(holders)
    ]
    return " and ".join(texts) + " first"


def _is_zero(site: CheckedOp, rule: FactorRule | None) -> bool:
    return rule is not None and any(
        bool(group) and all(site.states[i].zero for i in group) for group in rule.linear
    )
