"""Which mesh axes shrink with the dimensions that they split: a position along an axis, and the number of a
block of a dimension, is a number of several digits.

    mesh x = 128, f32[1024@x, 1024@y], y = 32      1024 = 32 * 4 * 8 over x, 1024 = 32 * 32 over y
                                                   so the major 32 of x and y are one digit

Digits that the layouts of a dimension have in common are one, over all dimensions and axes. A digit whose
values are all treated alike takes fewer of them, in both programs, as elements of a unit do (docs/proof.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod

from msgspec import Struct

from shardc.layout import Axis, Mesh
from shardc.proof.classes import Classes, Factors, Key, Part, Sized

SMALL = 8
"""Axes of so many positions need not shrink."""

Number = Key | str
"""What has digits: the blocks of dimensions that are alike (by one of them), or an axis."""

Digit = tuple[Number, int]
"""The digit of a number whose steps are so long."""

_MERGED = "a dimension that is merged"

Indices = tuple[Sequence[Key], Sequence[str]]
"""The dimensions, and the axes, that an operation has indices of at once; some more than once."""


class Axes(Struct):
    """The axes of a mesh: the parts that programs name, and axes that keep their sizes, with the reasons."""

    mesh: Mesh | None = None
    parts: dict[Axis, None] = {}
    pinned: dict[str, str] = {}
    counted: list[Indices] = []
    shorter: frozenset[str] = frozenset()
    """Axes that are shorter than they were, and may stay so."""

    @property
    def names(self) -> Sequence[str]:
        return () if self.mesh is None else tuple(self.mesh.sizes)

    @property
    def may_shrink(self) -> bool:
        """Whether some axis is long enough, and nothing is known yet that keeps it so."""
        sizes = {} if self.mesh is None else self.mesh.sizes
        return any(size > SMALL and name not in self.pinned for name, size in sizes.items())

    def pin(self, reason: str, names: Iterable[str]) -> None:
        for name in names:
            self.pinned.setdefault(name, reason)


class _Segment(Struct, frozen=True):
    """Digits of `number` with steps from `low` to `high`, which are those of another from `base` on."""

    number: Number
    low: int
    high: int
    base: int

    @property
    def end(self) -> int:
        return self.base * (self.high // self.low)


class Digits(Struct):
    """The digits of all numbers, and what becomes of them."""

    axes: Axes
    classes: Classes
    sized: Mapping[Key, Sized]
    alike: dict[Key, Key] = {}
    cuts: dict[Number, set[int]] = {}
    above: dict[Digit, Digit] = {}
    stay: dict[Digit, str] = {}
    kept: dict[Digit, int] = {}

    def find(self) -> Digits:
        """Itself, with all that is found out."""
        self._numbers()
        splits = self._splits()
        while any([self._meet(number, segment) for number, segments, _ in splits for segment in segments]):
            pass
        self.above = {(n, low): (n, low) for n in self.cuts for low, _ in self._digits(n)}
        for number, segments, size in splits:
            self._join(number, segments, size)
        self._stays()
        self._shrink()
        return self

    def blocks(self) -> dict[Key, Factors]:
        """What becomes of the number of blocks of dimensions, where that shrinks."""
        found = {number: self._factors(number, 1, self._largest(number)) for number in self.cuts}
        shrunk = {n: f for n, f in found.items() if any(before != now for before, now in f)}
        return {key: shrunk[n] for key in self.sized if (n := self._alike(key)) in shrunk}

    def part(self, axis: Axis) -> Factors:
        """What becomes of an axis, or of a part of one."""
        full = self._largest(axis.name)
        return self._factors(axis.name, full // axis.end, full // axis.pre)

    def thinner(self, axis: Axis) -> Axis:
        """The axis, or the part of one, that stands for it."""
        sizes = [prod(now for _, now in self.part(part)) for part in (axis, Axis(axis.name, axis.pre))]
        return Axis(axis.name, *sizes)

    def thinned(self) -> list[tuple[str, int, int]]:
        """The axes that shrink, with both sizes."""
        assert self.axes.mesh is not None
        sizes = [(name, size, self.thinner(Axis(name, size)).size) for name, size in self.axes.mesh.axes]
        return [each for each in sizes if each[1] != each[2]]

    def reasons(self) -> list[str]:
        """Why axes keep their sizes, with their names."""
        found: dict[str, list[str]] = {}
        for name in self.axes.names:
            for low, _ in self._digits(name):
                reason = self.stay.get(self._root((name, low)))
                long = self._largest(name) > SMALL and name not in self.axes.shorter
                if long and reason is not None:
                    found.setdefault(reason, []).append(name)
        return [f"{', '.join(dict.fromkeys(names))} kept for {reason}" for reason, names in found.items()]

    def _alike(self, key: Key) -> Key:
        while self.alike[key] != key:
            self.alike[key] = self.alike[self.alike[key]]
            key = self.alike[key]
        return key

    def _numbers(self) -> None:
        self.alike = {key: key for key in self.sized}
        for left, right in self.classes.links:
            if left in self.sized:
                one, other = self._alike(left), self._alike(right)
                if self.sized[one].blocks == self.sized[other].blocks:
                    self.alike[one] = other
        self.cuts = {key: {1, self.sized[key].blocks} for key in self.sized if self._alike(key) == key}
        assert self.axes.mesh is not None
        for name, size in self.axes.mesh.axes:
            self.cuts[name] = {1, size}
        for axis in self.axes.parts:
            full = self.axes.mesh.sizes[axis.name]
            self.cuts[axis.name] |= {full // axis.end, full // axis.pre}

    def _splits(self) -> list[tuple[Key, list[_Segment], int]]:
        """Every number that is made of others: them, and the size that they have together."""
        found: dict[tuple[Key, tuple[_Segment, ...]], int] = {}
        for left, parts, right in self.classes.splits:
            if left in self.sized:
                base = self.sized[right].blocks
                segments = [_Segment(self._alike(right), 1, base, 1), *self._segments(parts, base)]
                rest = prod(self._size(part) for part in parts)
                found[self._alike(left), tuple(segments)] = base * rest
        return [(number, list(segments), size) for (number, segments), size in found.items()]

    def _segments(self, parts: Sequence[Part], base: int) -> list[_Segment]:
        """Where parts lie in a number of which `base` are minor to them."""
        found: list[_Segment] = []
        for part in reversed(parts):
            if isinstance(part, Axis):
                full = self._largest(part.name)
                found.append(_Segment(part.name, full // part.end, full // part.pre, base))
            elif part in self.sized:
                each = self.sized[part]
                found.append(_Segment(self._alike(part), 1, each.blocks, base * each.unit * each.inner))
            base *= self._size(part)
        return found

    def _size(self, part: Part) -> int:
        return part.size if isinstance(part, Axis) else self.classes.sizes[part]

    def _largest(self, number: Number) -> int:
        return max(self.cuts[number])

    def _meet(self, number: Number, segment: _Segment) -> bool:
        """Cut both where one is cut; whether that changed anything."""
        here, there = self.cuts[number], self.cuts[segment.number]
        low, base = segment.low, segment.base
        up = {base * (cut // low) for cut in there if low <= cut <= segment.high and cut % low == 0}
        down = {low * (cut // base) for cut in here if base <= cut <= segment.end and cut % base == 0}
        changed = not (up <= here and down <= there)
        here |= up
        there |= down
        return changed

    def _digits(self, number: Number) -> list[tuple[int, int]]:
        return list(pairwise(sorted(self.cuts[number])))

    def _root(self, digit: Digit) -> Digit:
        while self.above[digit] != digit:
            self.above[digit] = self.above[self.above[digit]]
            digit = self.above[digit]
        return digit

    def _join(self, number: Number, segments: Sequence[_Segment], size: int) -> None:
        """The digits of a number are those of its segments; between them are units of other dimensions."""
        fit = size == self._largest(number)
        covered = list[tuple[int, int]]()
        for segment in segments:
            for low, high in self._within(segment.number, segment.low, segment.high):
                ends = (segment.base * low // segment.low, segment.base * high // segment.low)
                fit = fit and ends in self._digits(number)
                if fit:
                    self.above[self._root((number, ends[0]))] = self._root((segment.number, low))
                    covered.append(ends)
        for ends in self._digits(number):
            if not fit or ends not in covered:
                self._keep(_MERGED, number, *ends)
        for segment in () if fit else segments:
            self._keep(_MERGED, segment.number, segment.low, segment.high)

    def _within(self, number: Number, low: int, high: int) -> list[tuple[int, int]]:
        return [(at, end) for at, end in self._digits(number) if at < high and end > low]

    def _keep(self, reason: str, number: Number, low: int = 1, high: int | None = None) -> None:
        for at, _ in self._within(number, low, self._largest(number) if high is None else high):
            self.stay.setdefault((number, at), reason)

    def _stays(self) -> None:
        """What meets a constant, or no digit of the other, stays."""
        for name, reason in self.axes.pinned.items():
            self._keep(reason, name)
        classes = self.classes
        pinned = {classes.find(key)[0]: reason for key, reason in reversed(classes.pinned.items())}
        for left, parts, _ in classes.splits:
            if left not in self.sized:
                reason = pinned.get(classes.find(left)[0], _MERGED)
                for segment in self._segments(parts, 1):
                    self._keep(reason, segment.number, segment.low, segment.high)
        for left, right in classes.links:
            if left in self.sized and self.sized[left].blocks != self.sized[right].blocks:
                for key in (left, right):
                    self._keep(_MERGED, self._alike(key))
        for number in self.cuts:
            if any(high % low for low, high in self._digits(number)):
                self._keep("parts that do not divide each other", number)
        self.stay = {self._root(digit): reason for digit, reason in self.stay.items()}

    def _shrink(self) -> None:
        """A digit keeps two values more than any operation has indices of it."""
        most: dict[Digit, int] = {}
        for keys, names in self.axes.counted:
            have: dict[Digit, int] = {}
            for number in (*(self._alike(key) for key in keys if key in self.sized), *names):
                for low, _ in self._digits(number):
                    root = self._root((number, low))
                    have[root] = have.get(root, 0) + 1
            most.update((root, max(count, most.get(root, 1))) for root, count in have.items())
        for number in self.cuts:
            for low, high in self._digits(number):
                root = self._root((number, low))
                size = high // low
                self.kept[root] = size if root in self.stay else min(size, most.get(root, 1) + 2)

    def _factors(self, number: Number, low: int, high: int) -> Factors:
        """Of the digits between two steps, major to minor."""
        digits = [(at, end) for at, end in self._digits(number) if low <= at and end <= high]
        if any(end % at for at, end in digits):
            return ((high // low, high // low),)
        return tuple((end // at, self.kept[self._root((number, at))]) for at, end in reversed(digits))
