"""Which partial results a .shard program declares: `h: f32[8] partial(sum: model) = …`.

A result that goes straight to its reduction needs no word, unless it is made from a partial result. Others
do: the language takes a product of blocks for what it is, a value that differs between devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.analysis.collectives import axes_of
from shardc.analysis.emitted_mesh import EmittedMesh
from shardc.check.partials import Paths, natural_kind
from shardc.graph import Graph, Node, Region, walk
from shardc.graph.marks import PARTIAL_OVER
from shardc.layout import Axis, axis_named
from shardc.ops import Trait, has, spmd


def declarations(graph: Graph, bodies: Sequence[Region], mesh: EmittedMesh | None) -> dict[int, str]:
    """Value -> its type as the program declares it: f32[8] partial(sum: model)."""
    nodes = [node for body in bodies for node in walk(body)]
    paths = Paths(graph, nodes)
    found: dict[int, str] = {}
    partial: set[int] = set()
    for node in nodes:
        from_partial = not has(node.name, Trait.COMBINES) and any(value in partial for value in node.operands)
        if from_partial or node.name == spmd.to_partial.name:
            partial.update(node.results, *(region.args for region in node.regions))
        over = _over(node, mesh) if mesh is not None else ()
        if not over or mesh is None or len(node.results) != 1:
            continue
        (value,) = node.results
        kind = _kind(graph, node)
        if from_partial or not paths.goes_straight(value, over, kind):
            last, kind = paths.last_of_chain(value, kind)
            partial.update((value, last))
            found[last] = f"{graph.type(last)} partial({kind}: {', '.join(mesh.names(over))})"
    return found


def _over(node: Node, mesh: EmittedMesh) -> tuple[Axis, ...]:
    """The axes over which a node says that its result is partial."""
    if node.name == spmd.as_partial.name:
        return axes_of(node)
    texts = cast("tuple[str, ...]", node.attrs.get(PARTIAL_OVER, ()))
    return tuple(axis_named(text, mesh.mesh) for text in texts)


def _kind(graph: Graph, node: Node) -> str:
    return str(node.attrs["kind"]) if node.name == spmd.as_partial.name else natural_kind(graph, node)
