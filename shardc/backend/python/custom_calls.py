"""What custom calls say beside their operands."""

from __future__ import annotations

from typing import cast

from shardc.graph import Node

_OPTIONS = "mhlo.backend_config"


def options_of(node: Node) -> dict[str, int]:
    """The options that a routine is called with: one letter each, as its code."""
    return dict(cast("tuple[tuple[str, int], ...]", node.attrs.get(_OPTIONS) or ()))
