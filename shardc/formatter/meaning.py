"""What two texts of the same program have in common: their syntax trees without places."""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from shardc.frontend.text.syntax import Pos, Program


def meaning(program: Program) -> list[object]:
    """The tree in one list, so that chains of any length can be compared."""
    found: list[object] = []
    todo: list[object] = [program]
    while todo:
        node = todo.pop()
        if isinstance(node, Pos):
            continue
        if isinstance(node, tuple):
            items = cast("tuple[object, ...]", node)
            found.append(len([item for item in items if not isinstance(item, Pos)]))
            todo += items
        elif isinstance(node, Struct):
            found.append(type(node).__name__)
            todo += [getattr(node, field) for field in node.__struct_fields__]
        else:
            found.append((type(node).__name__, repr(node)))
    return found
