"""What a variable is called whose value has no name in the source: after the operation that makes it."""

from __future__ import annotations

from typing import cast

from shardc.backend.python import idiom
from shardc.graph import Node
from shardc.ops import find, hlo, spmd

_UPDATES = frozenset(
    definition.name
    for definition in (
        *(hlo.dynamic_update_slice, hlo.scatter),
        *(idiom.put, idiom.put_elements, idiom.put_layer, idiom.put_slices, idiom.updated),
    )
)
"""What gives its first operand with some elements replaced."""

_SUMS = (spmd.all_reduce.name, spmd.reduce_scatter.name)


def noun(node: Node | None, place: int = 0) -> str:
    """The variable for the result of the node at a place, as it says itself, or else its definition; `t`
    where nothing says more.
    """
    if node is None:
        return "t"
    if "called" in node.attrs:
        return str(cast("tuple[str, ...]", node.attrs["called"])[place])
    definition = find(node.name)
    return definition.spelling.variable if definition else idiom.VARIABLES.get(node.name, "t")


def updated(node: Node | None) -> int | None:
    """The value of which the result of a node is a newer state."""
    return node.operands[0] if node is not None and node.name in _UPDATES else None


def summed(node: Node | None) -> int | None:
    """The value of which devices hold parts that a node adds."""
    return node.operands[0] if node is not None and node.name in _SUMS else None
