"""Sharding groups: values that must be sharded alike.

Groups that share a value are one group. If the members that have an annotation agree, all get it. If they
don't, a warning says so, and each member is followed by an open constraint that takes its place in the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from shardc.diagnostics import Diagnostic, ShardcError
from shardc.graph import Graph, Node, Region
from shardc.layout import Sharding, unconstrained
from shardc.ops import func, sdy
from shardc.propagation.editing import Editor, Uses

_GROUP = sdy.sharding_group.name

Member = tuple[Node, frozenset[int | None]]
"""A group operation, and the manual computations around it by their numbers, None where there is none.

There are several if it is in a function that is called from several.
"""


def import_groups(editor: Editor, uses: Uses, annotate: bool = True) -> list[Diagnostic]:
    """Unite the groups of a program and settle what their members start with; what contradicts itself.

    Without `annotate` members that agree are left alone.

    ShardcError if a group has values of two shapes, or some inside a manual computation and some outside it.
    """
    conflicts: list[Diagnostic] = []
    for members in _united(group_nodes(editor.graph)):
        check_group(members, editor.graph)
        conflicts.extend(_settle(members, editor, uses, annotate))
    return conflicts


def stating(shardings: Iterable[Sharding | None]) -> list[Sharding]:
    """Those that say something: some dimension is split or closed. Shardy's groups go by these alone."""
    known = [sharding for sharding in shardings if sharding is not None]
    return [sharding for sharding in known if any(dim.axes or not dim.open for dim in sharding.dims)]


def group_nodes(graph: Graph) -> list[Member]:
    """The group operations, each with the manual computations around it."""
    around = _around_functions(graph)
    return [
        (node, around[function.name] if manual is None else frozenset({manual}))
        for function in graph.functions.values()
        for node, manual in _inside(function.body, None)
        if node.name == _GROUP
    ]


def _inside(region: Region, manual: int | None) -> Iterator[tuple[Node, int | None]]:
    """All operations of a region, each with the manual computation around it in the same function."""
    for node in region.nodes:
        yield node, manual
        for inner in node.regions:
            yield from _inside(inner, node.id if node.name == sdy.manual_computation.name else manual)


def _around_functions(graph: Graph) -> dict[str, frozenset[int | None]]:
    """Function -> the manual computations around its calls, also around those of what calls it.

    A function that only recursion leads to has none around it.
    """
    calls: dict[str, list[tuple[str, int | None]]] = {name: [] for name in graph.functions}
    for function in graph.functions.values():
        for node, manual in _inside(function.body, None):
            if node.name == func.call.name:
                calls[function.name].append((str(node.attrs["callee"]), manual))
    called = {callee for found in calls.values() for callee, _ in found}
    around = {name: frozenset[int | None](() if name in called else (None,)) for name in calls}
    waiting = list(calls)
    while waiting:
        caller = waiting.pop(0)
        for callee, manual in calls[caller]:
            grown = around[callee] | (around[caller] if manual is None else {manual})
            if grown != around[callee]:
                around[callee] = grown
                waiting.append(callee)
    return {name: found or frozenset((None,)) for name, found in around.items()}


def _united(nodes: list[Member]) -> list[list[Member]]:
    """The operations by group, groups with a common value as one. Their ids become the smallest."""
    leader: dict[int, int] = {}

    def find(group: int) -> int:
        while leader.setdefault(group, group) != group:
            group = leader[group]
        return group

    first: dict[int, int] = {}
    for node, _ in nodes:
        group = cast(int, node.attrs["group_id"])
        a, b = find(first.setdefault(node.operands[0], group)), find(group)
        leader[max(a, b)] = min(a, b)
    groups: dict[int, list[Member]] = {}
    for node, around in nodes:
        group = find(cast(int, node.attrs["group_id"]))
        node.attrs = {**node.attrs, "group_id": group}
        groups.setdefault(group, []).append((node, around))
    return [groups[group] for group in sorted(groups)]


def check_group(members: list[Member], graph: Graph) -> None:
    """ShardcError unless the values of a group have one shape and one manual computation around them.

    A value in a function that is called from several counts as a value in each of them. The messages are
    Shardy's, for files that expect them.
    """
    first, around = members[0]
    shape = graph.type(first.operands[0]).shape
    for node, others in members:
        other = graph.type(node.operands[0]).shape
        if other != shape:
            raise ShardcError(
                f"ShardingGroupOps values must have the same shape for groupId: {node.attrs['group_id']}",
                node.loc,
                f"the group has values of shapes {list(shape)} and {list(other)}",
            )
        if not others & around:
            raise ShardcError(
                "ShardingGroupOps values cannot cross ManualComputationOp boundaries for groupId: "
                f"{node.attrs['group_id']}",
                node.loc,
                "the group has values inside and outside a manual computation; use two groups",
            )


def _settle(members: list[Member], editor: Editor, uses: Uses, annotate: bool) -> Iterator[Diagnostic]:
    values = list(dict.fromkeys(node.operands[0] for node, _ in members))
    stated = stating(map(uses.sharding, values))
    if not stated:
        return
    if all(sharding == stated[0] for sharding in stated):
        for value in values if annotate else ():
            uses.annotate(value, stated[0])
        return
    node = members[0][0]
    yield Diagnostic(
        "warning",
        f"the values of sharding group {node.attrs['group_id']} start with different shardings: "
        + ", ".join(dict.fromkeys(map(str, stated))),
        node.loc,
        "each is resharded to whatever the group ends up with",
    )
    for value in values:
        sharding = unconstrained(stated[0].mesh, editor.graph.type(value).rank)
        made = editor.constraint(value, sharding, node.loc)
        uses.place_after(made, value)
        uses.redirect(value, made.results[0], lambda user, made=made: user is not made)
