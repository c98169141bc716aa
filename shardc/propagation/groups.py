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
from shardc.ops import sdy
from shardc.propagation.editing import Editor, Uses

_GROUP = sdy.sharding_group.name


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


def group_nodes(graph: Graph) -> list[tuple[Node, Node | None]]:
    """The group operations, each with the manual computation around it."""
    found: list[tuple[Node, Node | None]] = []

    def visit(region: Region, manual: Node | None) -> None:
        for node in region.nodes:
            if node.name == _GROUP:
                found.append((node, manual))
            for inner in node.regions:
                visit(inner, node if node.name == sdy.manual_computation.name else manual)

    for function in graph.functions.values():
        visit(function.body, None)
    return found


def _united(nodes: list[tuple[Node, Node | None]]) -> list[list[tuple[Node, Node | None]]]:
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
    groups: dict[int, list[tuple[Node, Node | None]]] = {}
    for node, manual in nodes:
        group = find(cast(int, node.attrs["group_id"]))
        node.attrs = {**node.attrs, "group_id": group}
        groups.setdefault(group, []).append((node, manual))
    return [groups[group] for group in sorted(groups)]


def check_group(members: list[tuple[Node, Node | None]], graph: Graph) -> None:
    """ShardcError unless the values of a group have one shape and one manual computation around them."""
    first, around = members[0]
    shape = graph.type(first.operands[0]).shape
    for node, manual in members:
        if graph.type(node.operands[0]).shape != shape:
            raise ShardcError(
                f"sharding group {node.attrs['group_id']} has values of shapes {list(shape)} and "
                f"{list(graph.type(node.operands[0]).shape)}",
                node.loc,
                "all values of a sharding group have the same shape",
            )
        if manual is not around:
            raise ShardcError(
                f"sharding group {node.attrs['group_id']} has values inside and outside a manual computation",
                node.loc,
                "use two groups",
            )


def _settle(
    members: list[tuple[Node, Node | None]], editor: Editor, uses: Uses, annotate: bool
) -> Iterator[Diagnostic]:
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
