"""Symbolic sizes: N with N, N with a number, N with M, through a whole graph."""

from __future__ import annotations

from shardc.layout.mesh import LayoutError

Size = int | str
"""A number of elements, or the name that stands for one (dim_param)."""


class Symbols:
    """What is known of symbolic sizes so far; grows while operations are looked at."""

    def __init__(self) -> None:
        self._known: dict[str, Size] = {}

    def resolve(self, size: Size) -> Size:
        """The number that a size is known to be, else the name that stands for all that are equal to it."""
        while isinstance(size, str) and size in self._known:
            size = self._known[size]
        return size

    def unify(self, one: Size, other: Size) -> Size:
        """Both are equal from now on. LayoutError if they are known to be different numbers."""
        first, second = self.resolve(one), self.resolve(other)
        if first == second:
            return first
        if isinstance(first, str):
            self._known[first] = second
            return second
        if isinstance(second, str):
            self._known[second] = first
            return first
        raise LayoutError(f"{self.text(one)} and {self.text(other)} are different sizes")

    def text(self, size: Size) -> str:
        """The size as a reader knows it: `N, which is 4`."""
        found = self.resolve(size)
        return str(size) if found == size else f"{size}, which is {found}"
