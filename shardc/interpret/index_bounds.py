"""Random integers that find something: of those that index a dimension, or are compared with its positions,
how large they may be.

A parameter is followed through what moves, converts, chooses and clamps elements, and through sums with
literals (as x[i] has i + 8 for i below 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from shardc.graph import Graph, Node, is_integer
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.interpret.origins import Origins, in_order
from shardc.ops import Trait, has, hlo

_FIRST_START = {hlo.dynamic_slice.name: 1, hlo.dynamic_update_slice.name: 2}
_KINDS = (Trait.MOVES, Trait.VIEW, Trait.IDENTITY, Trait.SAME_LAYOUT, Trait.ANNOTATION, Trait.EXCERPT)
_CHOSEN = {hlo.select.name: (1, 2), hlo.clamp.name: (1,), hlo.concatenate.name: None, hlo.add.name: None}
"""Operation -> the operands that its result is of; None: all."""


def index_bounds(graph: Graph) -> list[int | None]:
    """For every parameter of the entry what it is to be below, to be a good index wherever it is one."""
    found: dict[int, int] = {}
    makers: dict[int, Node] = {}
    for node, origins in in_order(graph, _through):
        makers.update(dict.fromkeys(node.results, node))
        for value, bound in _uses(graph, node, makers):
            for parameter in _parameters(graph, value, origins):
                found[parameter] = min(found.get(parameter, bound), max(1, bound))
    return [found.get(number) for number in range(len(graph.main.body.args))]


def _through(node: Node) -> tuple[int, ...]:
    if node.name in _CHOSEN:
        places = _CHOSEN[node.name]
        return node.operands if places is None else tuple(node.operands[place] for place in places)
    if node.name == hlo.convert.name or has(node.name, *_KINDS):
        return node.operands[:1]
    return ()


def _parameters(graph: Graph, value: int, origins: Origins) -> Iterator[int]:
    """The parameters of integers that a value is of."""
    for parameter in origins.get(value, ()):
        if is_integer(graph.type(graph.main.body.args[parameter]).dtype):
            yield parameter


def _uses(graph: Graph, node: Node, makers: dict[int, Node]) -> Iterator[tuple[int, int]]:
    """Values that an operation has for indices, and what they are to be below."""
    if node.name in _FIRST_START:
        first = _FIRST_START[node.name]
        sizes = graph.type(node.operands[0]).shape
        parts = graph.type(node.results[0] if first == 1 else node.operands[1]).shape
        for start, size, part in zip(node.operands[first:], sizes, parts, strict=True):
            yield start, size - part + 1
    elif node.name == hlo.gather.name:
        dims = cast(GatherDims, node.attrs["dimension_numbers"])
        sizes = cast("tuple[int, ...]", node.attrs["slice_sizes"])
        shape = graph.type(node.operands[0]).shape
        bounds = [shape[dim] - sizes[dim] + 1 for dim in dims.start_index_map]
        yield from _indices(graph, node.operands[1], dims.index_vector_dim, bounds, makers)
    elif node.name == hlo.scatter.name:
        dims = cast(ScatterDims, node.attrs["scatter_dimension_numbers"])
        shape = graph.type(node.operands[0]).shape
        bounds = [shape[dim] for dim in dims.scatter_dims_to_operand_dims]
        indices = node.operands[len(node.operands) // 2]
        yield from _indices(graph, indices, dims.index_vector_dim, bounds, makers)
    elif node.name == hlo.compare.name:
        for value, other in (node.operands, node.operands[::-1]):
            size = _positions(graph, other, makers)
            if size is not None:
                yield value, size


def _indices(
    graph: Graph, value: int, along: int, bounds: list[int], makers: dict[int, Node]
) -> Iterator[tuple[int, int]]:
    """Vectors of indices, a part of each that is concatenated, or all."""
    maker = makers.get(value)
    if maker is None or maker.name != hlo.concatenate.name or maker.attrs["dimension"] != along:
        yield value, min(bounds, default=1)
        return
    for part in maker.operands:
        count = graph.type(part).shape[along]
        yield part, min(bounds[:count], default=1)
        bounds = bounds[count:]


def _positions(graph: Graph, value: int, makers: dict[int, Node]) -> int | None:
    """The size of the dimension whose positions a value holds, if it does."""
    while (maker := makers.get(value)) is not None:
        if maker.name == hlo.iota.name:
            return graph.type(value).shape[cast(int, maker.attrs["iota_dimension"])]
        if maker.name != hlo.convert.name and not has(maker.name, Trait.VIEW, Trait.MOVES, Trait.IDENTITY):
            return None
        value = maker.operands[0]
    return None
