"""What is found of attributes, once for each object: operations share most of them, and to hash one that
holds others takes as long as to look at it.

    meaning = Once(find)
    meaning(attr)            # find(attr)
    meaning(attr)            # the same again
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from xdsl.ir import Attribute

Found = TypeVar("Found")

MANY = 1 << 14
"""Attributes of which something is remembered; with one more, all are forgotten."""


class Once(Generic[Found]):
    """A function of attributes that remembers what it gave. They are kept, so that no other gets the id of
    one."""

    def __init__(self, find: Callable[[Attribute], Found]) -> None:
        self._find, self._known = find, dict[int, tuple[Attribute, Found]]()

    def __call__(self, attr: Attribute) -> Found:
        known = self._known.get(id(attr))
        if known is None:
            if len(self._known) >= MANY:
                self._known.clear()
            known = self._known[id(attr)] = attr, self._find(attr)
        return known[1]
