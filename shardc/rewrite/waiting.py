"""The order of a region's operations in which collectives go together, and small ones on their results wait.

%1 = all_reduce %a          %3 = dot_general %x, %y
%2 = subtract %u, %1        %1 = all_reduce %a
%3 = dot_general %x, %y  -> %4 = all_reduce %3
%4 = all_reduce %3          %2 = subtract %u, %1
return %2, %4               return %2, %4

Here %1 and %4 go together. What is neither one of the collectives nor waits for one keeps its order, but
where one needs it before; all that waits comes right before what first needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shardc.analysis.usage import has_effect
from shardc.graph import Node, walk
from shardc.ops import Trait, has


def operands(node: Node) -> list[int]:
    """What a node and the regions in it use."""
    inner = [value for region in node.regions for other in walk(region) for value in other.operands]
    return [*node.operands, *inner]


def makers(nodes: Sequence[Node]) -> list[list[int]]:
    """By place, the places of the nodes of a region that make what a node uses."""
    maker: dict[int, int] = {}
    found: list[list[int]] = []
    for place, node in enumerate(nodes):
        found.append(sorted({maker[value] for value in operands(node) if value in maker}))
        maker.update(dict.fromkeys(node.results, place))
    return found


def needs(nodes: Sequence[Node]) -> list[list[int]]:
    """By place, the places of the nodes of a region that a node needs before it: `makers`, and of what has an
    effect the one before that has one."""
    found = makers(nodes)
    seen: list[int] = []
    for place, node in enumerate(nodes):
        if has(node.name, Trait.EFFECT) or has_effect(node):
            found[place] += seen
            seen = [place]
    return found


def needed(before: Sequence[Collection[int]], places: Sequence[int]) -> list[int]:
    """Of the nodes at some places, in order, which of them each needs: bits of their numbers. `before` is
    what `needs` says."""
    number = {place: at for at, place in enumerate(places)}
    known, found = list[int](), [0] * len(places)
    for place, others in enumerate(before):
        bits = 0
        for other in others:
            bits |= known[other]
        if place in number:
            found[number[place]] = bits
            bits |= 1 << number[place]
        known.append(bits)
    return found


def in_order(
    nodes: Sequence[Node], before: Sequence[Collection[int]], groups: Sequence[Sequence[int]]
) -> list[int]:
    """The places of a region's nodes in their new order, in which the places of each group follow each other.

    `before` is what `needs` says; `groups` have collectives, some of one alone, and none needs another of its
    group, over other groups either.
    """
    together = {place: tuple(group) for group in groups for place in group}
    late = set(together)
    for place, node in enumerate(nodes):
        if not late.isdisjoint(before[place]) and _can_wait(node):
            late.add(place)
    order: dict[int, None] = {}
    for place in (*(place for place in range(len(nodes) - 1) if place not in late), *range(len(nodes))):
        todo = [place]
        while todo:
            unit = together.get(todo[-1], (todo[-1],))
            if unit[0] in order:
                todo.pop()
            elif open := [other for each in unit for other in before[each] if other not in order]:
                todo += reversed(open)
            else:
                order.update(dict.fromkeys(unit))
    return list(order)


def _can_wait(node: Node) -> bool:
    """Whether an operation may be done later: it is small, and neither another device nor anybody outside
    waits for it.
    """
    heavy = (Trait.ALONG_AXES, Trait.REGION, Trait.PRODUCT, Trait.TERMINATOR, Trait.CALL)
    return not has(node.name, *heavy, Trait.EFFECT) and not has_effect(node)
