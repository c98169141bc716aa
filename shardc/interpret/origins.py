"""Which parameters of a program its values are, but for what moves, converts or chooses elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from shardc.graph import Graph, Node, Region

Origins = dict[int, tuple[int, ...]]
"""Value -> the numbers of the parameters that its elements are of."""

Through = Callable[[Node], Sequence[int]]
"""The operands of an operation whose elements its results are of."""


def in_order(graph: Graph, through: Through) -> Iterator[tuple[Node, Origins]]:
    """All operations of a program as they run, each with what is known of the values before it."""
    origins: Origins = {value: (number,) for number, value in enumerate(graph.main.body.args)}
    return _region(graph, graph.main.body, through, origins)


def _region(
    graph: Graph, region: Region, through: Through, origins: Origins
) -> Iterator[tuple[Node, Origins]]:
    for node in region.nodes:
        yield node, origins
        _pass(origins, [(value, result) for value in through(node) for result in node.results])
        callee = graph.functions.get(str(node.attrs.get("callee")))
        for body in [*node.regions, *([callee.body] if callee is not None else [])]:
            if len(body.args) == len(node.operands):
                _pass(origins, [*zip(node.operands, body.args, strict=True)], anew=True)
            yield from _region(graph, body, through, origins)
            if len(body.results) == len(node.results):
                _pass(origins, [*zip(body.results, node.results, strict=True)])


def _pass(origins: Origins, pairs: Sequence[tuple[int, int]], anew: bool = False) -> None:
    """What is known of the first of each pair is so of the second; anew: a function may be called again."""
    if anew:
        for _, new in pairs:
            origins.pop(new, None)
    for old, new in pairs:
        if old in origins:
            origins[new] = tuple(dict.fromkeys((*origins.get(new, ()), *origins[old])))
