"""Tuples, records and dicts of arrays, as device_main takes and gives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast


def leaves(tree: object) -> list[Any]:
    """What tuples and dicts consist of, in order."""
    if isinstance(tree, dict):
        tree = tuple(cast("dict[str, object]", tree).values())
    if not isinstance(tree, tuple):
        return [tree]
    return [leaf for item in cast("tuple[object, ...]", tree) for leaf in leaves(item)]


def like(tree: object, items: Iterable[object]) -> Any:
    """The same tuples, records and dicts of other leaves."""
    rest = iter(items)

    def made(part: object) -> object:
        if isinstance(part, dict):
            named = cast("dict[str, object]", part)
            return {key: made(item) for key, item in named.items()}
        if not isinstance(part, tuple):
            return next(rest)
        items = cast("tuple[object, ...]", part)
        kind: Any = type(items)
        own = map(made, items)
        return kind(*own) if hasattr(kind, "_fields") else tuple(own)

    return made(tree)
