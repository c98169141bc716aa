"""How states pass the operations of the spmd dialect: `axes` are those of the operation, `x` its operand.

An operand may be partial over other axes than the collective's, as far as the collective is linear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from shardc.check.site import CheckedOp, called
from shardc.check.state import REDUCERS, State
from shardc.graph import Node
from shardc.graph.marks import BACKWARD
from shardc.layout import Axis, size_of
from shardc.ops import spmd

TypingRule = Callable[[CheckedOp], list[State]]

SAID = "shardc.said"
"""The attribute of a collective that a program wrote by another name than its own: pmean."""


def all_reduce(site: CheckedOp) -> list[State]:
    """Varying or partial over the axes -> the same."""
    return [reduced(site, site.axes(), cast(str, site.node.attrs["kind"]))]


def reduce_scatter(site: CheckedOp) -> list[State]:
    """Varying or partial over the axes -> varying."""
    axes = site.axes()
    state = reduced(site, axes, cast(str, site.node.attrs["kind"]))
    return [replace(state, varies=state.varies | axes)]


def all_gather(site: CheckedOp) -> list[State]:
    """-> the same over the axes if `invariant`, else varying."""
    axes = site.axes()
    state = moved(site, axes)
    return [state if not site.node.attrs.get("invariant") else replace(state, varies=state.varies - axes)]


def exchange(site: CheckedOp) -> list[State]:
    """all_to_all, collective_permute, all_slice, vary: -> varying over the axes."""
    return [moved(site, site.axes())]


def ragged(site: CheckedOp) -> list[State]:
    """All operands are the same or varying -> varying over the axes, and over what an operand varies over."""
    partial = [i for i, state in enumerate(site.states) if state.partial]
    if partial:
        state = site.states[partial[0]]
        raise site.error(
            f"{site.op_name} of a partial {state.kind}: {site.operand(partial[0])}",
            f"{REDUCERS[state.kind]} over {site.parts.text(state.partial)} first",
        )
    return [State(site.axes().union(*(state.varies for state in site.states)))]


def broadcast(site: CheckedOp) -> list[State]:
    """-> the same over the axes."""
    axes = site.axes()
    state = moved(site, axes)
    return [replace(state, varies=state.varies - axes)]


def axis_index(site: CheckedOp) -> list[State]:
    """-> varying over the axes."""
    return [State(site.axes())]


def to_partial(site: CheckedOp) -> list[State]:
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


def as_partial(site: CheckedOp) -> list[State]:
    """Varying over the axes -> partial."""
    axes, kind = site.axes(), cast(str, site.node.attrs["kind"])
    (state,) = site.states
    if state.partial and state.kind != kind:
        raise site.error(f"a partial {state.kind} cannot be a partial {kind} too: {site.operands()}")
    same = [axis for axis in axes if axis not in state.varies and not state.is_term(axis, kind)]
    if same and site.settled:
        over = site.parts.text(same)
        raise site.error(
            f"{site.result()} is declared a partial sum over {over} and is the same there, "
            "counted once per device",
            f"leave {over} out of partial(…), or let one device keep it: to_partial({site.name(0)}, {over})",
        )
    return [State(state.varies - axes, state.partial | axes, kind, state.zero)]


def assume_equal(site: CheckedOp) -> list[State]:
    """Varying over the axes -> the same over them."""
    axes = site.axes()
    (state,) = site.states
    mixed = state.partial & axes
    if mixed:
        over = site.parts.text(mixed)
        raise site.error(
            f"check=False says that a partial {state.kind} over {over} is equal there: {site.operands()}",
            f"{REDUCERS[state.kind]} over {over} first",
        )
    return [State(state.varies - axes, state.partial, state.kind, state.zero)]


def reduced(site: CheckedOp, axes: frozenset[Axis], kind: str) -> State:
    """The operand combined over the axes by `kind`. Warns where it is the same over all of them already, but
    not of a derivative: that of `psum(x)` is one of what all devices have alike."""
    (state,) = site.states
    name, over = said(site.node, kind), site.parts.text(axes)
    if state.partial and state.kind != kind:
        raise site.error(
            f"{name} over {over} of a partial {state.kind}: {site.operands()}",
            f"{REDUCERS[state.kind]} over {site.parts.text(state.partial)} first",
        )
    same = axes - state.varies - state.partial
    if same and not state.zero and BACKWARD not in site.node.attrs:
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
        return called(node.name)
    scatter = "_scatter" if node.name.endswith("reduce_scatter") else ""
    return str(node.attrs.get(SAID) or REDUCERS.get(kind, kind) + scatter)


def moved(site: CheckedOp, axes: frozenset[Axis]) -> State:
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


COMMUNICATION: dict[str, TypingRule] = {
    spmd.all_gather.name: all_gather,
    spmd.all_reduce.name: all_reduce,
    spmd.all_slice.name: exchange,
    spmd.all_to_all.name: exchange,
    spmd.as_partial.name: as_partial,
    spmd.assume_equal.name: assume_equal,
    spmd.axis_index.name: axis_index,
    spmd.collective_broadcast.name: broadcast,
    spmd.collective_permute.name: exchange,
    spmd.ragged_all_to_all.name: ragged,
    spmd.reduce_scatter.name: reduce_scatter,
    spmd.to_partial.name: to_partial,
    spmd.vary.name: exchange,
}
