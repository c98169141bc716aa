"""What a layer has in place of what the others have, where the sequence of operations breaks off.

Operations are counted as if every layer were as the others: where one has something else, the places there
are those of the layers beside it. An operation of its own that is of the same kind and reads the same takes
such a place; the others take none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from msgspec import Struct
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardc.graph.repeats import Repeat, repeats
from shardc.ops import hlo
from shardc.rewrite.constants import splat_of, value_of
from shardc.rewrite.folding.kinds import Kinds
from shardc.rewrite.folding.numbers import any_number
from shardc.rewrite.folding.stacks import LEAST

NEAR = 64
"""Which of so many operations before it made what an operation reads is part of what repeats."""

MOST = 100
"""Operations that differ, at most: of more the layer is one of another kind."""

Expected = tuple[int, int] | SSAValue | None
"""What an operation of a layer is to read: the result of which place, the same value as in other layers, or
an argument, if these follow each other as layers do. None where that is not known."""


class Gap(Struct, frozen=True):
    """Between operations `start` and `end` stands what is not as in other layers, where these have `count`
    operations every `period`; `shift`: the places before it that there are more than operations."""

    start: int
    end: int
    count: int
    period: int
    shift: int

    @property
    def place(self) -> int:
        return self.start + self.shift

    @property
    def after(self) -> int:
        """The place of the operation that follows."""
        return self.place + self.count


class Alignment:
    """The operations of a block by place, and those that have none."""

    def __init__(self, ops: Sequence[Operation], kinds: Kinds) -> None:
        self.steps = [op for op in ops if op.name != hlo.constant.name]
        self.kind = {op: kinds(op) for op in self.steps}
        self.stretches: list[tuple[int, int, int]] = []
        """Of what repeats but for gaps the first place, the one behind the last, and the period."""
        self.joined = False
        self.gaps = [*self._gaps(kinds.but_for_functions())]
        self.op: list[Operation | None] = []
        self.place: dict[Operation, int] = {}
        self._lay()
        self.apart = {op for gap in self.gaps for op in self.steps[gap.start : gap.end]} - self.place.keys()

    def _gaps(self, like: Sequence[int]) -> Iterator[Gap]:
        near = _near(self.steps, [like[kind] for kind in self.kind.values()])
        shift, found = 0, repeats(near, LEAST)
        for one, two in pairwise([*found, None]):
            assert one is not None
            if not self.joined:
                self.stretches.append((one.start + shift, one.stop + shift, one.period))
            between = None if two is None else _between(near, one, two)
            self.joined = between is not None
            if two is not None and between is not None:
                end, count = between
                yield Gap(one.stop, end, count, one.period, shift)
                shift += count - (end - one.stop)
                start, _, period = self.stretches[-1]
                self.stretches[-1] = start, two.stop + shift, period

    def _lay(self) -> None:
        """Give operations their places."""
        at = 0
        for gap in self.gaps:
            self._put(self.steps[at : gap.start])
            before = gap.start - gap.period
            usual = [self.kind[op] for op in self.steps[before : before + gap.count]]
            own = [self.kind[op] for op in self.steps[gap.start : gap.end]]
            row: list[Operation | None] = [None] * gap.count
            for here, there, size in SequenceMatcher(None, usual, own, autojunk=False).get_matching_blocks():
                row[here : here + size] = self.steps[gap.start + there : gap.start + there + size]
            self._put(row)
            at = gap.end
        self._put(self.steps[at:])

    def _put(self, row: Iterable[Operation | None]) -> None:
        for op in row:
            if op is not None:
                self.place[op] = len(self.op)
            self.op.append(op)

    # What is the same but for what it reads

    def compare(self) -> None:
        """Take operations out of their places that read otherwise than those of other layers."""
        waiting = {*self.beside()}
        while waiting and len(self.apart) <= MOST:
            moved = self._otherwise(sorted(waiting & self.place.keys(), key=self.place.__getitem__))
            for op in moved:
                self.op[self.place.pop(op)] = None
                self.apart.add(op)
            waiting = {*self._readers(moved)}

    def _otherwise(self, ops: Sequence[Operation]) -> list[Operation]:
        """Those of some operations that read otherwise; in place of several that would read what one makes,
        which all that reads it in truth is apart, that one."""
        instead: dict[Operation | None, list[Operation]] = {}
        for op in ops:
            for number, value in enumerate(op.operands):
                if not self._is_alike(op, number, value):
                    expected = self.expected(self.place[op], number)
                    other = self.op[expected[0]] if isinstance(expected, tuple) else None
                    instead.setdefault(other, []).append(op)
        found = dict[Operation, None]()
        for other, some in instead.items():
            one = other is not None and len(some) > 1 and {*self._readers([other])} <= self.apart
            found.update(dict.fromkeys([other] if one and other is not None else some))
        return [*found]

    def beside(self) -> Iterator[Operation]:
        """The operations that may read otherwise than those of other layers: in gaps, of a layer before and
        behind each, and all that read what those in gaps make, or those without a place."""
        for gap in self.gaps:
            around = self.op[max(0, gap.place - gap.period) : gap.after + gap.period]
            yield from (op for op in around if op is not None)
            inside = self.op[gap.place : gap.after]
            yield from self._readers(op for op in inside if op is not None)
        yield from self._readers(self.apart)

    def _readers(self, ops: Iterable[Operation]) -> Iterator[Operation]:
        return (use.operation for op in ops for value in op.results for use in value.uses)

    def _is_alike(self, op: Operation, operand: int, value: SSAValue) -> bool:
        """Whether an operation reads what it would in other layers, or what stands for it."""
        usual = self.usual(self.place[op])
        if usual is None:
            return True
        expected = self.expected(self.place[op], operand)
        if not isinstance(expected, tuple):
            apart = isinstance(value, OpResult) and value.op in self.apart
            return _may_be(value, usual.operands[operand]) and not apart
        there, result = expected
        other = self.op[there]
        return splat_of(usual.operands[operand]) is None if other is None else value is other.results[result]

    # What others do

    def usual(self, place: int) -> Operation | None:
        """The operation of another layer that stands where one of this place would."""
        pair = self._pair(place)
        return None if pair is None else pair[0]

    def expected(self, place: int, operand: int) -> Expected:
        """What the operation of a place would read if its layer were as others."""
        pair = self._pair(place)
        if pair is None or operand >= len(pair[0].operands):
            return None
        one, two = (op.operands[operand] for op in pair)
        if one is two:
            return one
        if isinstance(one, BlockArgument) and isinstance(two, BlockArgument):
            index = 2 * one.index - two.index  # where arguments are in the order of layers
            return one.block.args[index] if 0 <= index < len(one.block.args) else None
        if isinstance(one, OpResult) and isinstance(two, OpResult) and one.index == two.index:
            here, there = self.place.get(one.op, -1), self.place.get(two.op, -1)
            at = 2 * here - there
            return (at, one.index) if min(here, there) >= 0 and 0 <= at < len(self.op) else None
        return None

    def first_reader(self, place: int, operand: int) -> tuple[int, int] | None:
        """Of the constant that the operation of a place would read, where each layer has one: the place of
        the first that would, and as which operand."""
        first: list[tuple[int, int]] = []
        for op in self._pair(place) or ():
            uses = [(self.place.get(use.operation), use.index) for use in op.operands[operand].uses]
            known = [(at, index) for at, index in uses if at is not None]
            first += [min(known)] if known else []
        if len(first) < 2 or first[0][1] != first[1][1]:
            return None
        at = 2 * first[0][0] - first[1][0]
        return (at, first[0][1]) if 0 <= at < len(self.op) else None

    def _pair(self, place: int) -> tuple[Operation, Operation] | None:
        """The operations of the layer beside it and the next one."""
        start, stop, period = next((s for s in self.stretches if s[0] <= place < s[1]), (0, 0, 0))
        behind = any(gap.after <= place < gap.after + gap.period for gap in self.gaps)
        for by in (period, -period) if behind else (-period, period):
            if start <= place + 2 * by < stop:
                one, two = self.op[place + by], self.op[place + 2 * by]
                if one is not None and two is not None:
                    return one, two
        return None


def _may_be(one: SSAValue, other: SSAValue) -> bool:
    """Whether layers may differ in which of two values they read, as far as these are constants."""
    pair = [v.op for v in (one, other) if isinstance(v, OpResult) and v.op.name == hlo.constant.name]
    if len(pair) < 2:
        return not pair
    number = any_number(one)
    return value_of(pair[0]) == value_of(pair[1]) or (number is not None and number == any_number(other))


def _near(steps: Sequence[Operation], kinds: Sequence[int]) -> list[int]:
    """Numbers of operations, equal for those of one kind that read what is made as far before them, where
    that is near."""
    made = {id(result): place for place, op in enumerate(steps) for result in op.results}
    numbers, near = dict[Hashable, int](), list[int]()
    for here, (op, kind) in enumerate(zip(steps, kinds, strict=True)):
        key = [kind]
        for value in op._operands:  # pyright: ignore[reportPrivateUsage]  (op.operands makes an object each time)
            apart = here - made.get(id(value), -NEAR - 1)
            key.append(apart if apart <= NEAR else 0)
        near.append(numbers.setdefault((*key,), len(numbers)))
    return near


def _between(kinds: Sequence[int], one: Repeat, two: Repeat) -> tuple[int, int] | None:
    """Where a stretch goes on after another, and how many operations of a layer are missing there; None if
    these have other layers."""
    period, between = one.period, two.start - one.stop
    if two.period != period or not 0 <= between <= 2 * period:
        return None
    word, following = kinds[one.stop - period : one.stop], kinds[two.start : two.start + period]
    count = next((n for n in range(period) if following == [*word[n:], *word[:n]]), None)
    if count is None:
        return None
    more = between + period - count
    if 2 * more < abs(count - between):  # some operations more are like those that follow
        return two.start + period - count, 0
    return (two.start, period) if not count and 2 * between > period else (two.start, count)
