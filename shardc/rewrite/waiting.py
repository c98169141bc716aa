"""Operations on the results of collectives, as late as they can be: right before what does not wait.

%1 = all_reduce %a          %1 = all_reduce %a
%2 = subtract %u, %1        %3 = dot_general %x, %y
%3 = dot_general %x, %y  -> %4 = all_reduce %3
%4 = all_reduce %3          %2 = subtract %u, %1
return %2, %4               return %2, %4

Then the first all-reduce may wait for the second.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.rewriter import InsertPoint, Rewriter

from shardc.analysis.usage import has_effect
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Node, Region, walk
from shardc.ops import Trait, has


def operands(node: Node) -> list[int]:
    """What a node and the regions in it use."""
    inner = [value for region in node.regions for other in walk(region) for value in other.operands]
    return [*node.operands, *inner]


def let_wait(snap: Snapshot, region: Region, collectives: Collection[int]) -> bool:
    """Move what uses results of these nodes, directly or not, and is small; whether anything moved."""
    behind = {value for node in region.nodes if node.id in collectives for value in node.results}
    waiting: list[Node] = []
    for node in region.nodes:
        if _can_wait(node) and not behind.isdisjoint(node.operands):
            waiting.append(node)
            behind.update(node.results)
    own = {node.id: place for place, node in enumerate(region.nodes)}
    users: dict[int, list[Node]] = {}
    for node in region.nodes:
        for value in operands(node):
            users.setdefault(value, []).append(node)
    # Where each comes: before the node of that number, the one of the least second number first.
    place = {node.id: (number, 0) for number, node in enumerate(region.nodes)}
    moved: list[Node] = []
    for node in reversed(waiting):
        uses = [place[user.id] for value in node.results for user in users.get(value, [])]
        if uses:
            anchor, depth = min(uses)
            place[node.id] = anchor, depth - 1
            moved.append(node)
    for node in sorted(moved, key=lambda node: (place[node.id], own[node.id])):
        op = snap.ops[node.id]
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(snap.ops[region.nodes[place[node.id][0]].id]))
    return bool(moved)


def _can_wait(node: Node) -> bool:
    """Whether an operation may be done later: it is small, and neither another device nor anybody outside
    waits for it.
    """
    heavy = (Trait.ALONG_AXES, Trait.REGION, Trait.PRODUCT, Trait.TERMINATOR, Trait.CALL)
    return not has(node.name, *heavy, Trait.EFFECT) and not has_effect(node)
