"""Changes of shape that come back to where they began, or are one transpose or reshape together.

    x.T[:, :, None].transpose(1, 2, 0)[:, 0]    ->  x
    x[:, :, None].transpose(1, 2, 0)[:, 0]      ->  x.T

What is followed are the dimensions that are not of size 1: transposes reorder them, and reshapes that only
add or take dimensions of size 1 leave their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from shardc.graph import Graph, Node
from shardc.ops import hlo

_FURTHEST = 8
"""So many changes are looked back."""

Dims = tuple[int, ...]


class Known(Protocol):
    """What is known of the program: see folding._Folder."""

    graph: Graph

    def only(self, value: int, *names: str) -> Node | None: ...


def unmoved(graph: Graph, node: Node, made: Mapping[int, Node]) -> int | None:
    """The value of the same type that a change of shape gives back, with those before it; None if there is
    none.
    """
    type = graph.type(node.results[0])
    order, step = tuple(range(sum(size != 1 for size in type.shape))), node
    for _ in range(_FURTHEST):
        before = order_of(graph, step)
        if before is None:
            return None
        order = tuple([before[dim] for dim in order])
        source = step.operands[0]
        if graph.type(source) == type and order == tuple(range(len(order))):
            return source
        following = made.get(source)
        if following is None:
            return None
        step = following
    return None


def together(known: Known, node: Node) -> Node | None:
    """Several changes of shape of a value as one: a reshape where what is not of size 1 keeps its order, a
    transpose between shapes without dimensions of size 1.
    """
    result = known.graph.type(node.results[0])
    order, step, found = tuple(range(sum(size != 1 for size in result.shape))), node, None
    for count in range(_FURTHEST):
        before = order_of(known.graph, step)
        if before is None:
            break
        order = tuple([before[dim] for dim in order])
        (source,) = step.operands
        if count:
            found = _as_one(known.graph, node, source, order) or found
        following = known.only(source, *_MOVES)
        if following is None:
            break
        step = following
    return found


def _as_one(graph: Graph, node: Node, source: int, order: Dims) -> Node | None:
    (result,) = node.results
    if order == tuple(range(len(order))):
        return Node(node.id, hlo.reshape.name, (source,), node.results, {}, (), node.loc)
    if 1 in graph.type(source).shape or 1 in graph.type(result).shape:
        return None
    attrs = {"permutation": order}
    return Node(node.id, hlo.transpose.name, (source,), node.results, attrs, (), node.loc)


def order_of(graph: Graph, node: Node) -> Dims | None:
    """Which dimension of the operand each of the result is, of those not of size 1; None if that is not all
    that happens.
    """
    if node.name not in _MOVES:
        return None
    given, made = (graph.type(value).shape for value in (node.operands[0], node.results[0]))
    larger = [dim for dim, size in enumerate(given) if size != 1]
    moved = _MOVES[node.name](given, node.attrs)
    order = tuple([larger.index(dim) for dim in moved if dim in larger])
    sizes = [given[larger[dim]] for dim in order]
    return order if sizes == [size for size in made if size != 1] else None


def _kept(given: Dims, _: Mapping[str, object]) -> Dims:
    return tuple(range(len(given)))


def _permuted(_: Dims, attrs: Mapping[str, object]) -> Dims:
    return cast(Dims, attrs["permutation"])


def _placed(given: Dims, attrs: Mapping[str, object]) -> Dims:
    dims = cast(Dims, attrs["broadcast_dimensions"])
    return tuple(sorted(range(len(given)), key=dims.__getitem__))


_MOVES = {hlo.broadcast_in_dim.name: _placed, hlo.reshape.name: _kept, hlo.transpose.name: _permuted}
