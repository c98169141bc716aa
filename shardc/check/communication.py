"""How states pass the operations of the spmd dialect: `axes` are those of the operation, `x` its operand.

An operand may be partial over other axes than the collective's, as far as the collective is linear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from shardc.check.site import CALLED, Site
from shardc.check.state import REDUCERS, State
from shardc.graph import Node
from shardc.layout import Axis, size_of

Rule = Callable[[Site], list[State]]

SAID = "shardc.said"
"""The attribute of a collective that a program wrote by another name than its own: pmean."""

WAITING = {
    "spmd.all_gather",
    "spmd.all_reduce",
    "spmd.all_to_all",
    "spmd.collective_permute",
    "spmd.reduce_scatter",
}
"""What devices do together: each waits for the others."""


def all_reduce(site: Site) -> list[State]:
    """Varying or partial over the axes -> the same."""
    return [reduced(site, site.axes(), cast(str, site.node.attrs["kind"]))]


def reduce_scatter(site: Site) -> list[State]:
    """Varying or partial over the axes -> varying."""
    axes = site.axes()
    state = reduced(site, axes, cast(str, site.node.attrs["kind"]))
    return [replace(state, varies=state.varies | axes)]


def all_gather(site: Site) -> list[State]:
    """-> the same over the axes if `invariant`, else varying."""
    axes = site.axes()
    state = moved(site, axes)
    return [state if not site.node.attrs.get("invariant") else replace(state, varies=state.varies - axes)]


def exchange(site: Site) -> list[State]:
    """all_to_all, collective_permute, all_slice, vary: -> varying over the axes."""
    return [moved(site, site.axes())]


def axis_index(site: Site) -> list[State]:
    """-> varying over the axes."""
    return [State(site.axes())]


def to_partial(site: Site) -> list[State]:
    """The same over the axes -> partial."""
    axes, kind = site.axes(), cast(str, site.node.attrs["kind"])
    (state,) = site.states
    other = axes & (state.varies | state.partial)
    if other:
        raise site.error(
            f"to_partial over {site.parts.text(axes)} keeps the value of one position, "
            f"but the others differ: {site.operands()}",
            "only what is the same on all becomes partial so; blocks that differ are declared to be terms: "
            f"t: {site.graph.type(site.node.operands[0])} partial({kind}: {site.parts.text(axes)}) = …",
        )
    if state.partial and state.kind != kind:
        raise site.error(f"to_partial makes a partial {kind} of a partial {state.kind}: {site.operands()}")
    return [State(state.varies, state.partial | axes, kind)]


def as_partial(site: Site) -> list[State]:
    """Varying over the axes -> partial."""
    axes, kind = site.axes(), cast(str, site.node.attrs["kind"])
    (state,) = site.states
    if state.partial and state.kind != kind:
        raise site.error(f"a partial {state.kind} cannot be a partial {kind} too: {site.operands()}")
    same = [axis for axis in axes if axis not in state.varies and not state.is_term(axis, kind)]
    if same:
        over = site.parts.text(same)
        raise site.error(
            f"{site.result()} is declared a partial sum over {over} and is the same there, "
            "counted once per device",
            f"leave {over} out of partial(…), or let one device keep it: to_partial({site.name(0)}, {over})",
        )
    return [State(state.varies - axes, state.partial | axes, kind, state.zero)]


def reduced(site: Site, axes: frozenset[Axis], kind: str) -> State:
    """The operand combined over the axes by `kind`; warns where it is the same over all of them already."""
    (state,) = site.states
    name, over = said(site.node, kind), site.parts.text(axes)
    if state.partial and state.kind != kind:
        raise site.error(
            f"{name} over {over} of a partial {state.kind}: {site.operands()}",
            f"{REDUCERS[state.kind]} over {site.parts.text(state.partial)} first",
        )
    same = axes - state.varies - state.partial
    if same and not state.zero:
        copies, along = size_of(same), site.parts.text(same)
        grows = kind == "sum" and name != "pmean"
        effect = f"it becomes {copies} times as large" if grows else "nothing changes"
        site.warn(
            f"{name} over {along} of a value that is the same over {along}, so {effect}: {site.operands()}",
            f"leave {along} out of the {name}",
        )
    return State(state.varies - axes, state.partial - axes, state.kind, state.zero)


def said(node: Node, kind: str | None = None) -> str:
    """What a program calls a collective: psum, psum_scatter, pmean, all_gather. `kind` is a reduction's."""
    kind = kind or cast("str | None", node.attrs.get("kind"))
    if kind is None:
        return CALLED.get(node.name) or node.name.partition(".")[2]
    scatter = "_scatter" if node.name.endswith("reduce_scatter") else ""
    return str(node.attrs.get(SAID) or REDUCERS.get(kind, kind) + scatter)


def moved(site: Site, axes: frozenset[Axis]) -> State:
    """The operand after its elements went to other devices along the axes."""
    (state,) = site.states
    mixed = state.partial & axes
    if mixed:
        over = site.parts.text(mixed)
        raise site.error(
            f"{site.op_name} over {over} of a partial {state.kind} over {over}: {site.operands()}",
            f"{REDUCERS[state.kind]} over {over} first",
        )
    return replace(state, varies=state.varies | axes)


COMMUNICATION: dict[str, Rule] = {
    "spmd.all_gather": all_gather,
    "spmd.all_reduce": all_reduce,
    "spmd.all_slice": exchange,
    "spmd.all_to_all": exchange,
    "spmd.as_partial": as_partial,
    "spmd.axis_index": axis_index,
    "spmd.collective_permute": exchange,
    "spmd.reduce_scatter": reduce_scatter,
    "spmd.to_partial": to_partial,
    "spmd.vary": exchange,
}
