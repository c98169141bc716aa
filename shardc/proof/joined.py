"""Dimensions that are joined of others: what is laid one after the other, and cut apart again.

A concatenation, a slice and a padding say that a stretch of one dimension is a stretch of another, element by
element. Where a stretch begins or ends its dimension is cut, and so is every dimension of its class and every
stretch that is the same. So each is a row of pieces, each of them a class of its own.

    %j = concatenate %a, %b       f32[4096], f32[512] -> f32[4608]     a piece of 4096, one of 512
    %s = all_reduce %j
    %c = slice %s [4096:4608]                                          the second piece
 -> f32[3], f32[3] -> f32[6], slice [3:6]
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from shardc.proof.classes import Classes, Key, Shrunk
from shardc.proof.products import Product

MOST = 256
"""The most pieces of a dimension."""

PIECE = 2
"""Stands for the number of a program in the keys of pieces."""


class Stretch(Struct, frozen=True):
    """`size` elements of a dimension from a place on are those of another from a place on; in which line."""

    whole: Key
    start: int
    part: Key
    begin: int
    size: int
    line: str

    @property
    def sides(self) -> tuple[tuple[Key, int], tuple[Key, int]]:
        return (self.whole, self.start), (self.part, self.begin)


class Row(Struct, frozen=True):
    """What becomes of a dimension that is joined of pieces: for each its size, and what becomes of that."""

    pieces: tuple[tuple[int, Shrunk | Product | None], ...]

    @property
    def sizes(self) -> list[int]:
        return [size if change is None else change.size for size, change in self.pieces]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def weights(self) -> list[int]:
        """How many elements each of the new ones stands for."""
        found = ([1] * size if change is None else change.weights for size, change in self.pieces)
        return [weight for each in found for weight in each]

    def place(self, old: int) -> int:
        """Where the piece begins that began at a place."""
        begins = accumulate((size for size, _ in self.pieces), initial=0)
        return dict(zip(begins, accumulate(self.sizes, initial=0), strict=True))[old]


class Joined(Struct):
    """The pieces of dimensions. cuts: where classes (by their first members) begin new ones."""

    classes: Classes
    stretches: Sequence[Stretch]
    cuts: dict[Key, set[int]] = {}
    pieces: dict[Key, list[Key]] = {}
    """For every class that has some."""
    owners: dict[Key, Key] = {}
    """The class of every dimension that is joined of pieces that may shrink."""

    def find(self, merged: Collection[Key], ordered: Collection[Key]) -> Joined:
        """Itself, with all that is found out. merged: dimensions that a reshape takes apart or puts together;
        these stay if they are joined. ordered: those of which the greatest element is taken; these stay if
        they are joined or a piece.
        """
        unlike = self._unlike()
        whole = {self._root(key) for key in ordered}
        apart = [
            each
            for each in self.stretches
            if any(self._root(key) in unlike for key in self._cuts(each))
            or any(self._root(key) in whole for key, _ in each.sides)
        ]
        self._keep(apart)
        self.stretches = [each for each in self.stretches if each not in apart]
        for cluster in self._clusters():
            if not self._cut(cluster, unlike):
                self._keep(cluster)
        stay = self._stay(merged)
        for number, (root, cuts) in enumerate(self.cuts.items()):
            bounds = (0, *sorted(cuts), self.classes.sizes[root])
            self.pieces[root] = [(PIECE, number, at) for at in range(len(bounds) - 1)]
            for key, (low, high) in zip(self.pieces[root], pairwise(bounds), strict=True):
                self.classes.add(key, high - low)
                if root in stay:
                    self.classes.pin(key, stay[root])
                    self.classes.pin(root, stay[root])
        members = [(key, self._root(key)) for key in self.classes.above]
        self.owners = {key: root for key, root in members if root in self.pieces and root not in stay}
        for stretch in self.stretches:
            left, right = (self._within(key, at, stretch.size) for key, at in stretch.sides)
            for one, other in zip(left, right, strict=True) if left and right else ():
                self.classes.link(one, other)
        return self

    def of(self, key: Key) -> list[Key]:
        """The pieces of a dimension, or itself."""
        return self.pieces[self.owners[key]] if key in self.owners else [key]

    def rows(self, found: Mapping[Key, Shrunk | Product]) -> dict[Key, Row]:
        """The dimensions that are joined of pieces of which some shrink."""
        rows = {
            root: Row(tuple((self.classes.sizes[piece], found.get(piece)) for piece in pieces))
            for root, pieces in self.pieces.items()
            if any(piece in found for piece in pieces)
        }
        return {key: rows[root] for key, root in self.owners.items() if root in rows}

    def _unlike(self) -> set[Key]:
        """Classes of which some are blocks of others."""
        members = ((key, self._root(key)) for key in self.classes.above)
        return {root for key, root in members if self.classes.sizes[key] != self.classes.sizes[root]}

    def _cuts(self, stretch: Stretch) -> list[Key]:
        """The sides of which it is not all."""
        return [key for key, _ in stretch.sides if stretch.size < self.classes.sizes[key]]

    def _keep(self, stretches: Iterable[Stretch]) -> None:
        for stretch in stretches:
            for key, _ in stretch.sides:
                self.classes.pin(key, stretch.line)

    def _root(self, key: Key) -> Key:
        return self.classes.find(key)[0]

    def _clusters(self) -> Iterator[list[Stretch]]:
        """Stretches of classes that meet each other."""
        above: dict[Key, Key] = {}

        def first(key: Key) -> Key:
            while above.setdefault(key, key) != key:
                above[key] = above[above[key]]
                key = above[key]
            return key

        for stretch in self.stretches:
            above[first(self._root(stretch.whole))] = first(self._root(stretch.part))
        found: defaultdict[Key, list[Stretch]] = defaultdict(list)
        for stretch in self.stretches:
            found[first(self._root(stretch.whole))].append(stretch)
        return iter(found.values())

    def _cut(self, cluster: Sequence[Stretch], unlike: Collection[Key]) -> bool:
        """Cut all classes where one is cut that is the same there; False where these are too many, or blocks
        of others.
        """
        at: defaultdict[Key, list[tuple[Stretch, int]]] = defaultdict(list)
        cuts: defaultdict[Key, set[int]] = defaultdict(set)
        todo: list[tuple[Key, int]] = []
        for stretch in cluster:
            for side, (key, begin) in enumerate(stretch.sides):
                at[self._root(key)].append((stretch, side))
                ends = (begin, begin + stretch.size)
                todo += [(self._root(key), end) for end in ends if 0 < end < self.classes.sizes[key]]
        while todo:
            root, place = todo.pop()
            if place in cuts[root]:
                continue
            cuts[root].add(place)
            if len(cuts[root]) >= MOST or root in unlike:
                return False
            for stretch, side in at[root]:
                inside = place - stretch.sides[side][1]
                other, begin = stretch.sides[1 - side]
                if 0 < inside < stretch.size:
                    todo.append((self._root(other), begin + inside))
        self.cuts.update((root, found) for root, found in cuts.items() if found)
        return True

    def _stay(self, merged: Collection[Key]) -> dict[Key, str]:
        """Classes that are cut and keep their sizes."""
        classes, found = self.classes, dict[Key, str]()
        for key, reason in (*classes.pinned.items(), *classes.whole.items()):
            found.setdefault(self._root(key), reason)
        lines = {self._root(key): stretch.line for stretch in self.stretches for key, _ in stretch.sides}
        for key in merged:
            root = self._root(key)
            if root in self.cuts:
                found.setdefault(root, lines[root])
        return found

    def _within(self, key: Key, begin: int, size: int) -> list[Key]:
        """The pieces of a stretch; none of a class that is not cut as others are."""
        root = self._root(key)
        if root not in self.cuts:
            return [key] if (begin, size) == (0, self.classes.sizes[key]) else []
        bounds = (0, *sorted(self.cuts[root]))
        return [
            self.pieces[root][at]
            for at in range(bisect_right(bounds, begin) - 1, bisect_right(bounds, begin + size - 1))
        ]
