"""Which dimensions of both programs have one size: classes of dimensions, with the number of elements that
stand for one (a dimension that a reshape merges into another's rows repeats each of them).

A dimension of class c has `blocks * unit * inner` elements: `blocks` times the class's unit, each of whose
elements is `inner` elements in a row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from fractions import Fraction
from math import gcd, prod

from msgspec import Struct

from shardc.layout import Axis

Key = tuple[int, int, int]
"""Number of the program, value, dimension."""

_ONE = Fraction(1)
"""Most ratios are this object."""

Part = Axis | Key
"""What is major in a dimension: blocks along an axis, or all of another dimension."""

Factors = tuple[tuple[int, int], ...]
"""Sizes before and after, major to minor, whose product a size is."""


class Classes(Struct):
    """A union-find over dimensions; `inner` of a member relative to the one above it."""

    above: dict[Key, tuple[Key, Fraction]] = {}
    sizes: dict[Key, int] = {}
    pinned: dict[Key, str] = {}
    whole: dict[Key, str] = {}
    """As `pinned`, but where axes shrink it may: it is cut into blocks of one element."""
    links: list[tuple[Key, Key]] = []
    """Dimensions of as many elements of the class."""
    splits: list[tuple[Key, tuple[Part, ...], Key]] = []
    """Dimensions that are parts, major to minor, of each of which another has the minor rest."""

    def add(self, key: Key, size: int) -> None:
        self.above[key] = (key, _ONE)
        self.sizes[key] = size

    def find(self, key: Key) -> tuple[Key, Fraction]:
        """The class's first member, and the key's inner elements for one of it."""
        known = self.above[key]
        if self.above[known[0]][0] == known[0]:
            return known
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
        self.links.append((left, right))
        self._join(left, right, ratio)

    def split(self, left: Key, parts: tuple[Part, ...], right: Key, ratio: int = 1) -> None:
        """The same, where `left` has as many elements as all parts and `right` together."""
        if parts:
            self.splits.append((left, parts, right))
            self._join(left, right, ratio)
        else:
            self.link(left, right, ratio)

    def _join(self, left: Key, right: Key, ratio: int) -> None:
        (a, x), (b, y) = self.find(left), self.find(right)
        if a != b:
            self.above[a] = (b, _ONE if ratio == 1 and x is y else ratio * y / x)
        elif (ratio != 1 or x is not y) and x != ratio * y:
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


class Sized(Struct, frozen=True):
    """A dimension of `blocks * unit * inner` elements, of whose unit `kept` stay."""

    blocks: int
    unit: int
    kept: int
    inner: int


class Shrunk(Struct, frozen=True):
    """What becomes of a dimension: factors of its size, major to minor, each element of which is `inner`."""

    factors: Factors
    inner: int

    @property
    def size(self) -> int:
        return prod(kept for _, kept in self.factors) * self.inner

    def place(self, old: int) -> int:
        """Where it begins, or ends, which were these places."""
        return {0: 0, prod(before for before, _ in self.factors) * self.inner: self.size}[old]

    @property
    def weights(self) -> list[int]:
        """How many elements each of the new ones stands for."""
        return [weight for weight in counts(self.factors) for _ in range(self.inner)]


def counts(factors: Factors) -> list[int]:
    """How many elements each of those that are kept stands for: in each factor the last for what is gone."""
    found = [1]
    for before, kept in factors:
        row = [*[1] * (kept - 1), before - kept + 1]
        found = [weight * each for weight in found for each in row]
    return found


def sized(classes: Classes, together: dict[Key, int], joined: Container[Key]) -> dict[Key, Sized]:
    """The dimensions of classes that are not pinned, and not joined of others; `together[key]` is how many
    indices of its class an operation has there.
    """
    found: dict[Key, Sized] = {}
    for members in classes.groups():
        if any(key in classes.pinned or key in joined for key, _ in members):
            continue
        inners = _inners([ratio for _, ratio in members])
        sizes = [classes.sizes[key] for key, _ in members]
        if inners is None or any(size % inner for size, inner in zip(sizes, inners, strict=True)):
            continue
        rows = [size // inner for size, inner in zip(sizes, inners, strict=True)]
        if 0 in sizes:
            continue
        unit = 1 if any(key in classes.whole for key, _ in members) else gcd(*rows)
        kept = max(together.get(key, 1) for key, _ in members) + 2
        for (key, _), inner, count in zip(members, inners, rows, strict=True):
            found[key] = Sized(count // unit, unit, min(unit, kept), inner)
    return found


def shrunk(found: dict[Key, Sized], blocks: dict[Key, Factors]) -> dict[Key, Shrunk]:
    """The dimensions that shrink; `blocks`: what becomes of their numbers of blocks, where these shrink."""
    changes = {
        key: Shrunk((*blocks.get(key, ((each.blocks, each.blocks),)), (each.unit, each.kept)), each.inner)
        for key, each in found.items()
    }
    return {
        key: change for key, change in changes.items() if any(before != now for before, now in change.factors)
    }


def _inners(ratios: Sequence[Fraction]) -> list[int] | None:
    """The ratios to the least of them; None if they are no whole numbers."""
    least = ratios[0] if all(ratio is ratios[0] for ratio in ratios) else min(ratios)
    found = [_ONE if ratio is least else ratio / least for ratio in ratios]
    return None if any(ratio.denominator != 1 for ratio in found) else [ratio.numerator for ratio in found]
