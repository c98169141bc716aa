"""The permutation that the pivots of an LU factorisation say, which JAX makes in a loop of swaps.

    for i in range(count): permutation[i], permutation[pivots[i]] = permutation[pivots[i]], permutation[i]

The loop is known by what one turn does with drawn numbers: how swaps are written depends on JAX's version and
on the dimensions of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from shardc.analysis.loops import Constants, counted
from shardc.graph import Graph, Node, Region
from shardc.interpret.devices import Lockstep
from shardc.ops import hlo, meaning

_Numbers = NDArray[np.generic]
_DRAWS = 3
_LARGEST = 1 << 16
"""Numbers of a permutation, of all in a batch, that are drawn; loops over more stay as they are."""


def permutation(graph: Graph, node: Node, pivots: int, made: Mapping[int, Node]) -> int | None:
    """The place among a loop's results of the permutation that `pivots`, counted from 0, say; None of another
    loop. `made` is what makes the values beside the loop.
    """
    if node.name != hlo.while_.name:
        return None
    constants = Constants(graph)
    constants.collect(Region((), [*made.values()]))
    count = counted(node, constants)
    turns = graph.type(pivots).shape[-1]
    if count is None or (count.start, count.stop) != (0, turns) or graph.type(pivots).size > _LARGEST:
        return None
    body = node.regions[1]
    if any(meaning(inner.name) is None for inner in _all(body)):
        return None
    changed = [
        place
        for place, (arg, result) in enumerate(zip(body.args, body.results, strict=True))
        if arg != result and place != count.index
    ]
    if len(changed) != 1 or not _counts_places(graph, node.operands[changed[0]], made):
        return None
    held = _held(graph, body, pivots, made)
    if held is None:
        return None
    rng = np.random.default_rng(0)
    turned = (_swaps(graph, node, pivots, count.index, changed[0], held, rng) for _ in range(_DRAWS))
    return changed[0] if all(turned) else None


def _counts_places(graph: Graph, value: int, made: Mapping[int, Node]) -> bool:
    """Whether a value is 0, 1, … along its last dimension."""
    node, dim = made.get(value), len(graph.type(value).shape) - 1
    while node is not None and node.name == hlo.broadcast_in_dim.name:
        dims = node.attrs["broadcast_dimensions"]
        if not isinstance(dims, tuple) or dim not in dims:
            return False
        dim = dims.index(dim)
        node = made.get(node.operands[0])
    return node is not None and node.name == hlo.iota.name and node.attrs["iota_dimension"] == dim


def _held(graph: Graph, body: Region, pivots: int, made: Mapping[int, Node]) -> dict[int, _Numbers] | None:
    """What a body uses of the values around it, but for the pivots; None if they are no constants."""
    inside = {*body.args, *(result for node in _all(body) for result in node.results)}
    inside |= {arg for node in _all(body) for region in node.regions for arg in region.args}
    inside.add(pivots)
    needed, order = [v for node in _all(body) for v in node.operands if v not in inside], list[Node]()
    while needed:
        node = made.get(needed.pop())
        if node is None or node.regions:
            return None
        order.append(node)
        needed += node.operands
    unique = list({id(node): node for node in reversed(order)}.values())
    results = [result for node in unique for result in node.results]
    end = Node(-1, hlo.return_.name, tuple(results), (), {}, (), body.nodes[-1].loc)
    found = Lockstep(graph).run(Region((), [*unique, end]), [], {})
    return {value: blocks[0] for value, blocks in zip(results, found, strict=True)}


def _all(region: Region) -> Iterator[Node]:
    """The operations of a region and of those in it, without what ends them."""
    for node in region.nodes[:-1]:
        yield node
        for inner in node.regions:
            yield from _all(inner)


def _swaps(
    graph: Graph,
    node: Node,
    pivots: int,
    counter: int,
    place: int,
    held: Mapping[int, _Numbers],
    rng: np.random.Generator,
) -> bool:
    """Whether a drawn turn of the loop swaps two places of the drawn array that it carries."""
    body = node.regions[1]
    before = rng.integers(0, 100, graph.type(body.args[place]).shape)
    turn = int(rng.integers(graph.type(pivots).shape[-1]))
    chosen = rng.integers(turn, before.shape[-1], graph.type(pivots).shape)
    given = list[_Numbers]()
    for number, (arg, operand) in enumerate(zip(body.args, node.operands, strict=True)):
        type = graph.type(arg)
        known = {counter: np.full(type.shape, turn), place: before}.get(number)
        known = chosen if operand == pivots else known
        given.append(np.zeros(type.shape, type.numpy) if known is None else known.astype(type.numpy))
    around = {value: [array] for value, array in held.items()}
    around[pivots] = [chosen.astype(graph.type(pivots).numpy)]
    after = Lockstep(graph).run(body, [[array] for array in given], around)[place][0]
    other = chosen[..., turn, None]
    wanted = before.copy()
    np.put_along_axis(wanted, other, before[..., turn, None], axis=-1)
    wanted[..., turn] = np.take_along_axis(before, other, axis=-1)[..., 0]
    return bool(np.array_equal(after, wanted))
