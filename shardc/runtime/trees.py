"""Tuples, records and dicts of arrays, as device_main takes and gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    return _filled(tree, iter(items))


def _filled(tree: object, rest: Iterator[object]) -> object:
    """The same with the next of `rest` for every leaf."""
    if isinstance(tree, dict):
        named = cast("dict[str, object]", tree)
        return {key: _filled(item, rest) for key, item in named.items()}
    if not isinstance(tree, tuple):
        return next(rest)
    items = cast("tuple[object, ...]", tree)
    kind: Any = type(items)
    own = [_filled(item, rest) for item in items]
    return kind(*own) if hasattr(kind, "_fields") else tuple(own)
