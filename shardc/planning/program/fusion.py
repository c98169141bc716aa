"""What an operation reads from memory and writes to it, once operations are fused; by one static rule.

A chain of elementwise operations, broadcasts and what makes values from nothing (iotas, constants) reads each
of its inputs once, and writes what others use. A reduction ends a chain: it takes elements as they are made.
A reshape of what is in memory is no work, nor is a device's own part of it, nor a transpose for a product,
which reads in any order. What an operation's definition says that it touches (a slice, a gather, an update in
place) is not asked here.

    a = p[None, :] - p[:, None]; b = tanh(a); c = sum(b, axis=1)

reads p and writes c: a and b are never in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shardc.graph import Node
from shardc.ops import Trait, has, hlo, spmd

_IN_PLACE = (hlo.reshape.name, spmd.all_slice.name)
"""What uses their results reads them where they are."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Numbers of the operands that an operation reads from memory, and of the results that it writes."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


def traffic(nodes: Iterable[Node], users: Mapping[int, list[Node]]) -> dict[int, Traffic]:
    """Node id -> what it reads and writes. `users` of values; those not in `nodes` read from memory."""
    nodes = list(nodes)
    ids = {node.id for node in nodes}
    makers = {value: node for node in nodes for value in node.results}
    fused = {
        value
        for value, maker in makers.items()
        if _chained(maker) and all(u.id in ids and _takes(u) for u in users.get(value, []))
    }
    chain = _Chains()
    for node in nodes:
        for value in node.operands:
            if value in fused:
                chain.join(node.id, makers[value].id)
    read: set[tuple[int, int]] = set()
    found: dict[int, Traffic] = {}
    for node in nodes:
        reads: list[int] = []
        for index, value in enumerate(node.operands):
            key = (chain.find(node.id), value)
            if value not in fused and key not in read:
                read.add(key)
                reads.append(index)
        using = [user for value in node.results for user in users.get(value, [])]
        found[node.id] = _of(node, tuple(reads), fused, using)
    return found


def _of(node: Node, reads: tuple[int, ...], fused: set[int], users: list[Node]) -> Traffic:
    writes = tuple(i for i, value in enumerate(node.results) if value not in fused)
    turned = node.name == hlo.transpose.name and all(has(user.name, Trait.PRODUCT) for user in users)
    where_it_is = node.name in _IN_PLACE or (turned and reads)
    return Traffic((), ()) if where_it_is and writes else Traffic(reads, writes)


def _chained(node: Node) -> bool:
    """Whether what an operation makes can be made again wherever it is used."""
    made = node.name == spmd.to_partial.name or has(node.name, Trait.ELEMENTWISE, Trait.SOURCE, Trait.VIEW)
    return made and len(node.results) == 1


def _takes(node: Node) -> bool:
    """Whether an operation can take elements as they are made."""
    return _chained(node) or node.name == hlo.reduce.name


class _Chains:
    """Operations that are one chain, by number."""

    def __init__(self) -> None:
        self.parent: dict[int, int] = {}

    def find(self, node: int) -> int:
        while node in self.parent:
            node = self.parent[node]
        return node

    def join(self, node: int, other: int) -> None:
        node, other = self.find(node), self.find(other)
        if node != other:
            self.parent[max(node, other)] = min(node, other)
