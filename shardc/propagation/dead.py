"""Operations whose results nobody uses. Shardy's sweep removes them on its way, which later visits feel.

A dead operation is removed when its turn comes, before it propagates anything; one that only dead operations
use is visited once, and removed after them. Graphs keep theirs: here they just stop taking part.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from shardc.graph import Graph, Node, Region
from shardc.ops import Trait, func, has, hlo, sdy
from shardc.propagation.edges import EdgesOf, edges_of


def dead_nodes(graph: Graph, edges: EdgesOf = edges_of) -> set[int]:
    """The ids of the operations that can be removed because nothing that stays uses their results.

    Operations with edges stay.
    """
    used: set[int] = set()
    dead: set[int] = set()
    for function in graph.functions.values():
        _find(function.body, graph, edges, used, dead)
    return dead


def _find(region: Region, graph: Graph, edges: EdgesOf, used: set[int], dead: set[int]) -> None:
    for node in reversed(region.nodes):
        # A terminator has no results either, and is never removable.
        if used.isdisjoint(node.results) and _removable(node, graph, edges):
            dead.add(node.id)
            continue
        used.update(node.operands)
        for inner in node.regions:
            _find(inner, graph, edges, used, dead)


def _removable(node: Node, graph: Graph, edges: EdgesOf) -> bool:
    if not node.results and node.name != hlo.custom_call.name:
        return False
    if has(node.name, Trait.KEPT) or edges(node, graph) is not None:
        return False
    if node.name in _NAMED or node.attrs.get("has_side_effect") is True:
        return False
    inner = (node for region in node.regions for node in region.nodes[:-1])
    return all(_removable(node, graph, edges) for node in inner)


_NAMED = (func.call.name, sdy.func_data_flow_edge.name)
"""What stays for what other functions say."""


class Dead(Struct):
    """The dead links of a flow, by number.

    `users[n]` are the dead links that use results of n. `makers[n]` are the links that made operands of n,
    each with the other users of that operand: how many stay, and which are dead. `frees[n]` are the links
    that may share no operand any more once n is gone.
    """

    users: dict[int, set[int]] = {}
    makers: dict[int, list[tuple[int, int, set[int]]]] = {}
    frees: dict[int, list[int]] = {}
    gone: set[int] = set()

    def remove(self, number: int) -> bool:
        """Remove a link if no user is left; whether it is gone."""
        if self.users[number] - self.gone:
            return False
        self.gone.add(number)
        return True

    def revisited(self, number: int) -> Iterator[int]:
        """The links to visit again after a removal: what made operands that have at most one other user."""
        for maker, staying, dead in self.makers[number]:
            if staying + len(dead - self.gone) <= 1 and maker not in self.gone:
                yield maker
