"""What a collective of per-device code goes over, and what it sends."""

from __future__ import annotations

from typing import cast

from shardc.graph import Graph, Node
from shardc.layout import Axis, size_of
from shardc.ops import Trait, find, has

Pairs = tuple[tuple[int, int], ...]


def is_per_device(node: Node) -> bool:
    """Whether only per-device code has such an operation."""
    return has(node.name, Trait.ALONG_AXES)


def axes_of(node: Node) -> tuple[Axis, ...]:
    """The axes that it works over, major to minor."""
    return cast("tuple[Axis, ...]", node.attrs["axes"])


def pairs_of(node: Node) -> Pairs:
    """Which position sends to which, in a permute; positions are row-major over the axes."""
    return cast(Pairs, node.attrs.get("pairs", ()))


def operand_bytes(graph: Graph, node: Node) -> int:
    """The size of what a device gives; further operands say where it goes, and what is there."""
    return sum(graph.type(value).nbytes for value in node.operands[:1])


def sends(node: Node) -> bool:
    """Whether devices exchange data."""
    definition = find(node.name)
    return definition is not None and definition.sends is not None


def bytes_sent(graph: Graph, node: Node) -> int:
    """Bytes that a device sends when the operation runs once."""
    definition = find(node.name)
    if definition is None or definition.sends is None:
        return 0
    return definition.sends(operand_bytes(graph, node), size_of(axes_of(node)))


def title_of(node: Node) -> str:
    """What people call it: all-reduce, permute."""
    definition = find(node.name)
    return (definition and definition.title) or node.name
