"""What custom calls say beside their operands."""

from __future__ import annotations

from typing import cast

from shardc.graph import Node

_OPTIONS = "mhlo.backend_config"


def options_of(node: Node) -> dict[str, int]:
    """The options that a routine is called with: a letter as its code, a number or a truth value."""
    return dict(cast("tuple[tuple[str, int], ...]", node.attrs.get(_OPTIONS) or ()))


def is_letter(name: str, value: int) -> bool:
    """Whether an option is a letter, and not the number of a row or a truth value."""
    return not isinstance(value, bool) and name not in ("low", "high")
