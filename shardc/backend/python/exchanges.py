"""All-to-alls that are sent as one (passes/stack_exchanges.py), as one node.

    a = all_to_all(x); b = all_to_all(y) with the one before    ->  a, b = idiom.exchanged(x, y)

In JAX that is `a, b = lax.all_to_all(jnp.stack([x, y]), …)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.graph import Graph, Node, Region
from shardc.graph.marks import TOGETHER
from shardc.graph.program import own_attrs
from shardc.ops import spmd

Varying = Mapping[int, frozenset[str]]


def join_exchanges(graph: Graph, region: Region, varying: Varying) -> Region:
    """The region with those of operands that vary over the same mesh axes joined, and those of the regions in
    it; the given one stays as it is."""
    return Region(region.args, [_joined(graph, run, varying) for run in _runs(graph, region.nodes, varying)])


def _runs(graph: Graph, nodes: Sequence[Node], varying: Varying) -> Iterator[list[Node]]:
    """All-to-alls that are one, and every other node alone."""
    run = list[Node]()
    for node in nodes:
        if run and not _goes_with(graph, run[-1], node, varying):
            yield run
            run = []
        run.append(node)
    yield run


def _goes_with(graph: Graph, before: Node, node: Node, varying: Varying) -> bool:
    if before.name != spmd.all_to_all.name or node.name != before.name or TOGETHER not in node.attrs:
        return False
    (one,), (other,) = before.operands, node.operands
    alike = graph.type(one) == graph.type(other) and varying.get(one) == varying.get(other)
    return alike and own_attrs(before) == own_attrs(node)


def _joined(graph: Graph, run: list[Node], varying: Varying) -> Node:
    first = run[0]
    if len(run) == 1:
        regions = tuple(join_exchanges(graph, inner, varying) for inner in first.regions)
        return replace(first, regions=regions) if regions else first
    operands = tuple(node.operands[0] for node in run)
    results = tuple(node.results[0] for node in run)
    attrs = {"parts": tuple(run)}
    return replace(first, name=idiom.exchanged.name, operands=operands, results=results, attrs=attrs)
