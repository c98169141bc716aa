"""Which operations of a program that layers have been taken out of run alike.

Where 98 of 100 layers are one (passes/fold_layers.py), what that layer makes is read by the next one that
stays, and in truth by itself. Were each planned for itself, it could take its values in one layout and give
them in another, and pay for the way back once instead of 97 times. So the layers around those that went run
alike, as far as one reads from the other: of `x = f(x, w0); x = f(x, w1); …`

    0  1 (for 97)  |  98  99        all four, with x in one layout before and after
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import cast

from shardc.graph import Graph, Node, walk
from shardc.graph.marks import LAYER, NUMBERS, TIMES

_Place = tuple[int, int, int, int]
"""Stack, stretch, step and layer."""


def run_alike(graph: Graph) -> Mapping[int, Hashable]:
    """By the ids of such operations what is equal for those that run alike."""
    nodes = graph.main.body.nodes
    places = {node.id: place for node in nodes if (place := _place(node)) is not None}
    last = {places[n.id][0]: places[n.id][3] for n in nodes if n.id in places and TIMES in n.attrs}
    if not last:
        return {}
    reach = _reach(nodes, places)
    return {
        node: (stack, stretch, step)
        for node, (stack, stretch, step, layer) in places.items()
        if stack in last and last[stack] - reach[stack] <= layer <= last[stack] + 1 + reach[stack]
    }


def with_bodies(nodes: Iterable[Node], alike: Mapping[int, Hashable]) -> Mapping[int, Hashable]:
    """The same with operations in the bodies of these, of which each is the so-many-th."""
    return {**alike} | {
        inner.id: (alike[node.id], number)
        for node in nodes
        if node.regions and node.id in alike
        for number, inner in enumerate(each for region in node.regions for each in walk(region))
    }


def groups(graph: Graph, alike: Mapping[int, Hashable]) -> Iterator[tuple[int, ...]]:
    """Of several operations that run alike which ones of main they are, group by group."""
    found: dict[Hashable, list[int]] = {}
    for number, node in enumerate(graph.main.body.nodes if alike else ()):
        if node.id in alike:
            found.setdefault(alike[node.id], []).append(number)
    yield from (tuple(numbers) for numbers in found.values() if len(numbers) > 1)


def _place(node: Node) -> _Place | None:
    """Where an operation stands; None if it is of no layer, of several, or a number of its own."""
    places = cast("tuple[int, ...]", node.attrs.get(LAYER, ()))
    return places if len(places) == 4 and places[1] != NUMBERS else None


def _reach(nodes: Iterable[Node], places: Mapping[int, _Place]) -> dict[int, int]:
    """Of each stack how many layers further on a layer reads, at most; 1 at least."""
    made = {value: places[node.id] for node in nodes if node.id in places for value in node.results}
    found = {place[0]: 1 for place in places.values()}
    for node in nodes:
        if node.id in places:
            stack, _, _, layer = places[node.id]
            read = [made[value] for value in node.operands if value in made]
            found[stack] = max([found[stack], *(abs(at[3] - layer) for at in read if at[0] == stack)])
    return found
