"""How states pass operations that don't communicate: what varies spreads, what is partial needs linearity."""

from __future__ import annotations

from typing import cast

from shardc.check.site import Site
from shardc.check.state import REDUCERS, State
from shardc.explain.diagnostics import ShardcError
from shardc.layout import Axis
from shardc.rules import FactorRule
from shardc.rules.table import rule_of

PARTIAL_OVER = "shardc.partial_over"
"""The attribute of an operation whose local results are partial results: the axes over which, as text."""


def plain(site: Site) -> list[State]:
    """Results vary over what any operand varies over, and are partial where the operation is linear."""
    rule = rule_of(site.graph.op(site.node))
    varies = frozenset(axis for state in site.states for axis in state.varies)
    kinds = {axis: _through(site, rule, axis) for axis in _sorted(site, _partial(site))}
    for axis in site.parts.named(cast(tuple[str, ...], site.node.attrs.get(PARTIAL_OVER, ()))):
        kinds.setdefault(axis, (rule and rule.reduction) or "sum")
    if len(set(kinds.values())) > 1:
        said = " and ".join(f"a partial {kind} over {site.parts.text([a])}" for a, kind in kinds.items())
        raise site.error(f"the result of {site.op_name} would be {said}: {site.operands()}", _fix(site))
    kind = next(iter(kinds.values()), "sum")
    state = State(varies - kinds.keys(), frozenset(kinds), kind, _is_zero(site, rule))
    return [state] * len(site.node.results)


def not_partial(site: Site, what: str) -> None:
    """ShardcError if an operand is a partial result; `what` says why that is wrong."""
    partial = _partial(site)
    if partial:
        raise _nonlinear(site, _sorted(site, partial)[0], what)


def _through(site: Site, rule: FactorRule | None, axis: Axis) -> str:
    """The kind of the results over an axis over which some operands are partial."""
    holders = [i for i, state in enumerate(site.states) if axis in state.partial]
    kinds = {site.states[i].kind for i in holders}
    flows = rule.flows(*kinds) if rule and len(kinds) == 1 else ()
    fitting = [(group, result) for group, result in flows if group.issuperset(holders)]
    for group, result in fitting:
        if _misfit(site, axis, group) is None:
            return result
    if fitting:
        raise _mixed(site, axis, fitting[0][0])
    if flows and len(holders) > 1:
        raise site.error(
            f"{site.op_name} of two partial results over {site.parts.text([axis])}: {site.operands(holders)}",
            _fix(site, holders[:1]),
        )
    raise _nonlinear(site, axis, f"{site.op_name} of the parts is not a part of {site.op_name} of the whole")


def _misfit(site: Site, axis: Axis, group: frozenset[int]) -> int | None:
    """The first operand that keeps the results from being partial results over the axis."""
    for i, state in enumerate(site.states):
        kind = next(s.kind for s in site.states if axis in s.partial)
        if not state.is_term(axis, kind) if i in group else axis in state.varies:
            return i
    return None


def _mixed(site: Site, axis: Axis, group: frozenset[int]) -> ShardcError:
    misfit = _misfit(site, axis, group)
    assert misfit is not None
    holder = next(i for i, state in enumerate(site.states) if axis in state.partial)
    over = site.parts.text([axis])
    if misfit in group:
        message = (
            f"{site.op_name} combines a partial {site.states[holder].kind} over {over} with a whole value"
        )
        hint = f"{_fix(site, [holder])}, or every device of {over} counts {site.name(misfit)} once more"
    else:
        message = (
            f"{site.op_name} combines a partial {site.states[holder].kind} over {over} with one that varies"
        )
        hint = _fix(site, [holder])
    return site.error(f"{message}: {site.operands()}", hint)


def _nonlinear(site: Site, axis: Axis, why: str) -> ShardcError:
    holders = [i for i, state in enumerate(site.states) if axis in state.partial]
    kind = site.states[holders[0]].kind
    return site.error(
        f"{site.op_name} of a partial {kind} over {site.parts.text([axis])}: {site.operands(holders)}; {why}",
        _fix(site, holders),
    )


def _fix(site: Site, holders: list[int] | None = None) -> str:
    if holders is None:
        holders = [i for i, state in enumerate(site.states) if state.partial]
    texts = [
        f"{REDUCERS[site.states[i].kind]} {site.name(i)} over {site.parts.text(site.states[i].partial)}"
        for i in holders
    ]
    return " and ".join(texts) + " first"


def _is_zero(site: Site, rule: FactorRule | None) -> bool:
    return rule is not None and any(
        bool(group) and all(site.states[i].zero for i in group) for group in rule.linear
    )


def _partial(site: Site) -> frozenset[Axis]:
    return frozenset(axis for state in site.states for axis in state.partial)


def _sorted(site: Site, axes: frozenset[Axis]) -> list[Axis]:
    return sorted(axes, key=site.parts.mesh.order)
