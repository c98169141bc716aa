"""What a variable is called whose value has no name in the source: after the operation that makes it."""

from __future__ import annotations

from shardc.backend.python import idiom
from shardc.graph import Node
from shardc.ops import find


def noun(node: Node | None) -> str:
    """The variable for a result of the node, as its definition says; `t` where nothing says more."""
    if node is None:
        return "t"
    definition = find(node.name)
    return definition.spelling.variable if definition else idiom.VARIABLES.get(node.name, "t")
