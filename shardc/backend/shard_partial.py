"""Which partial results a .shard program declares: `h: f32[8] partial(sum: model) = …`.

A result that goes to its reduction without meeting another value needs no word, unless it is made from a
partial result; the others do, because the language takes a product of blocks for what it is, a value that
differs between devices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from shardc.backend.axes import EmittedMesh
from shardc.graph import Graph, Node, Region, walk
from shardc.layout import Axis
from shardc.rules.table import rule_of

_PART = re.compile(r"(?P<name>[^:]+)(?::\((?P<pre>\d+)\)(?P<size>\d+))?")
_ENDS = ("spmd.all_reduce", "spmd.reduce_scatter")


def declarations(graph: Graph, bodies: Sequence[Region], mesh: EmittedMesh | None) -> dict[int, str]:
    """Value -> its type as the program declares it: f32[8] partial(sum: model)."""
    nodes = [node for body in bodies for node in walk(body)]
    users: dict[int, list[Node]] = {}
    for node in nodes:
        for value in node.operands:
            users.setdefault(value, []).append(node)
    found: dict[int, str] = {}
    partial: set[int] = set()
    for node in nodes:
        from_partial = node.name not in _ENDS and any(value in partial for value in node.operands)
        if from_partial or node.name == "spmd.to_partial":
            partial.update(node.results, *(region.args for region in node.regions))
        over = cast("tuple[str, ...]", node.attrs.get("shardc.partial_over", ()))
        if not over or mesh is None or len(node.results) != 1:
            continue
        (value,) = node.results
        if from_partial or not _goes_straight(value, users):
            partial.add(value)
            axes = ", ".join(mesh.names(_axis(mesh, text) for text in over))
            found[value] = f"{graph.type(value)} partial({_kind(graph, node)}: {axes})"
    return found


def _goes_straight(value: int, users: dict[int, list[Node]]) -> bool:
    """Whether all that becomes of a value, by operations on it alone, is reduced."""
    for user in users.get(value, []):
        if user.name in _ENDS:
            continue
        if len(user.operands) != 1 or len(user.results) != 1 or not _goes_straight(user.results[0], users):
            return False
    return True


def _axis(mesh: EmittedMesh, text: str) -> Axis:
    match = _PART.fullmatch(text)
    assert match is not None
    full = mesh.mesh.axis(match["name"])
    return Axis(full.name, int(match["size"]), int(match["pre"])) if match["pre"] else full


def _kind(graph: Graph, node: Node) -> str:
    """Of a reduction its own; else one device has each element and the others have zero."""
    if "shardc.partial_kind" in node.attrs:
        return str(node.attrs["shardc.partial_kind"])
    rule = rule_of(graph.op(node))
    rest = "max" if graph.type(node.results[0]).dtype == "bool" else "sum"
    return (rule and rule.reduction) or rest
