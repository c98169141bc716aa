"""Which dimensions of both programs have one size: classes of dimensions, with the number of elements that
stand for one (a dimension that a reshape merges into another's rows repeats each of them).

A dimension of class c has `blocks * unit * inner` elements: `blocks` times the class's unit, each of whose
elements is `inner` elements in a row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd

Key = tuple[int, int, int]
"""Number of the program, value, dimension."""

_ONE = Fraction(1)
"""Most ratios are this object."""


@dataclass(slots=True)
class Classes:
    """A union-find over dimensions; `inner` of a member relative to the one above it."""

    above: dict[Key, tuple[Key, Fraction]] = field(default_factory=dict[Key, "tuple[Key, Fraction]"])
    sizes: dict[Key, int] = field(default_factory=dict[Key, int])
    pinned: dict[Key, str] = field(default_factory=dict[Key, str])

    def add(self, key: Key, size: int) -> None:
        self.above[key] = (key, _ONE)
        self.sizes[key] = size

    def find(self, key: Key) -> tuple[Key, Fraction]:
        """The class's first member, and the key's inner elements for one of it."""
        path: list[Key] = []
        while self.above[key][0] != key:
            path.append(key)
            key = self.above[key][0]
        ratio = _ONE
        for member in reversed(path):
            step = self.above[member][1]
            ratio = ratio if step is _ONE else step * ratio
            self.above[member] = (key, ratio)
        return key, ratio

    def link(self, left: Key, right: Key, ratio: int = 1) -> None:
        """One element of `right` is `ratio` elements of `left`."""
        (a, x), (b, y) = self.find(left), self.find(right)
        if a != b:
            self.above[a] = (b, _ONE if ratio == 1 and x is y else ratio * y / x)
        elif x != ratio * y:
            self.pin(left, "it is merged with itself")

    def pin(self, key: Key, reason: str) -> None:
        """The size stays."""
        self.pinned.setdefault(key, reason)

    def groups(self) -> Iterator[list[tuple[Key, Fraction]]]:
        """The members of every class, with their inner elements."""
        found: defaultdict[Key, list[tuple[Key, Fraction]]] = defaultdict(list)
        for key in self.above:
            root, ratio = self.find(key)
            found[root].append((key, ratio))
        return iter(found.values())


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What becomes of a dimension: blocks of `unit` become blocks of `kept`."""

    blocks: int
    unit: int
    kept: int
    inner: int

    @property
    def size(self) -> int:
        return self.blocks * self.kept * self.inner

    @property
    def weights(self) -> list[int]:
        """How many elements each of the new ones stands for."""
        row = [self.unit - self.kept + 1, *[1] * (self.kept - 1)]
        return [weight for weight in row for _ in range(self.inner)] * self.blocks


def shrunk(classes: Classes, together: dict[Key, int]) -> dict[Key, Shrunk]:
    """The dimensions that shrink; `together[key]` is how many indices of its class an operation has there."""
    found: dict[Key, Shrunk] = {}
    for members in classes.groups():
        if any(key in classes.pinned for key, _ in members):
            continue
        inners = _inners([ratio for _, ratio in members])
        sizes = [classes.sizes[key] for key, _ in members]
        if inners is None or any(size % inner for size, inner in zip(sizes, inners, strict=True)):
            continue
        counts = [size // inner for size, inner in zip(sizes, inners, strict=True)]
        unit = gcd(*counts)
        kept = max(together.get(key, 1) for key, _ in members) + 2
        if kept >= unit:
            continue
        for (key, _), inner, count in zip(members, inners, counts, strict=True):
            found[key] = Shrunk(count // unit, unit, kept, inner)
    return found


def _inners(ratios: Sequence[Fraction]) -> list[int] | None:
    """The ratios to the least of them; None if they are no whole numbers."""
    least = ratios[0] if all(ratio is ratios[0] for ratio in ratios) else min(ratios)
    found = [_ONE if ratio is least else ratio / least for ratio in ratios]
    return None if any(ratio.denominator != 1 for ratio in found) else [ratio.numerator for ratio in found]
