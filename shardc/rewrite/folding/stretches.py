"""Stretches of operations that repeat, and what the turns of each read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from xdsl.ir import Operation, OpResult

from shardc.graph.repeats import Repeat
from shardc.rewrite.folding.given import Given
from shardc.rewrite.folding.numbers import own_numbers
from shardc.rewrite.folding.places import Slot
from shardc.rewrite.folding.reads import reads, reads_of
from shardc.rewrite.folding.sums import is_part
from shardc.rewrite.folding.turns import NUMBER, Pairs, Reading, alike, jumping, turn_by_turn

PARTS = 4
"""A stretch is cut into so many parts at most, where layers between them differ from all others."""


class Stretches(Struct, dict=True):
    """Stretches of a block, each a number of turns of the same operations. Operations that are `taken` are of
    stacks that were found before. `before`: more stretches, of which these are left."""

    steps: Sequence[Operation]
    repeats: Sequence[Repeat]
    made: Callable[[AbstractSet[Operation]], Given]
    """What is given of operations where these are of layers."""
    taken: AbstractSet[Operation]
    before: Stretches | None = None

    def __post_init__(self) -> None:
        self.at: dict[Operation, tuple[int, int, int]] = {}
        """Stretch, step and turn."""
        for number, repeat in enumerate(self.repeats):
            for index in range(repeat.start, repeat.stop):
                turn, step = divmod(index - repeat.start, repeat.period)
                self.at[self.steps[index]] = number, step, turn
        same = self._same()
        self.given = self.before.given if self.before and same else self.made(self.taken | self.at.keys())
        self.pairs: list[list[tuple[Slot, Pairs]]] = []
        """Per stretch what each operand of its operations reads from turn to turn."""
        self.relations: dict[Slot, list[Reading]] = {}
        """What the operations of each slot read, in the turns below."""
        self.runs: list[list[range]] = []
        """Per stretch the turns in a row in which everything reads alike."""
        self.unordered = set[int]()
        """The stretches that read turns of another one in an order of their own, of names perhaps (1, 10, 11,
        2), and pass nothing from turn to turn."""
        self.turns: list[range] = []
        """Of these the longest."""
        self.lengths: list[int] = []
        """Per stretch the operations of these; a turn at its end that reads otherwise is of no layer."""

        self.lasts: dict[int, int] = {}
        for number in range(len(self.repeats)):
            self._compare(number, self._known(number, same) or self._pairs(number))
        self.before = None

    def _known(self, number: int, same: int) -> list[tuple[Slot, Pairs]] | None:
        """The pairs of a stretch, if it and all that it reads is of the first so many, which are the same."""
        if self.before is None or number >= same or self.before.last(number) >= same:
            return None
        self.lasts[number] = self.before.last(number)
        return self.before.pairs[number]

    def _same(self) -> int:
        """How many stretches are what they were; none, where something that was of a stretch and is of none
        now goes into what is given."""
        if self.before is None:
            return 0
        then = self.before.at.keys()
        if not self.at.keys() <= then or not self.before.given.kinds.keys().isdisjoint(then - self.at.keys()):
            return 0
        pairs = zip(self.repeats, self.before.repeats, strict=False)
        return next((n for n, (now, then) in enumerate(pairs) if now != then), len(self.repeats))

    def last(self, number: int) -> int:
        """The last of the stretches of whose operations those of one read something, or with which they read
        numbers of their own."""
        if number not in self.lasts:
            self.lasts[number] = max(number, *self._read(number))
        return self.lasts[number]

    def _read(self, number: int) -> Iterator[int]:
        at, pairs = self.at, iter(self.pairs[number])
        for step in range(self.repeats[number].period):
            for row in zip(*reads_of(self.row(number, step)), strict=True):
                _, readings = next(pairs)
                if NUMBER in readings:
                    yield from (at[use.operation][0] for value in row for use in value.uses)
                else:
                    ops = [value.op for value in row if isinstance(value, OpResult)]
                    yield max([at[op][0] for op in ops if op in at], default=number)

    @property
    def doubtful(self) -> dict[Repeat, list[Repeat]]:
        """The stretches in which most turns don't read what the same operation of the one before reads, and
        the parts in which many do. Those have none that go through the layers in an order of their own: what
        they do follows from the layers."""
        found = dict[Repeat, list[Repeat]]()
        for number, (repeat, runs) in enumerate(zip(self.repeats, self.runs, strict=True)):
            if number in self.unordered:
                found[repeat] = []
            elif 2 * max(map(len, runs)) < repeat.count:
                found[repeat] = [*_parts(repeat, runs)]
        return found

    def row(self, number: int, step: int) -> Sequence[Operation]:
        """The operations of a step of a stretch, turn by turn."""
        repeat = self.repeats[number]
        return self.steps[repeat.start + step : repeat.stop : repeat.period][: repeat.count]

    def _pairs(self, number: int) -> list[tuple[Slot, Pairs]]:
        """How what each operand of a stretch's operations is differs from turn to turn."""
        found = list[tuple[Slot, Pairs]]()
        for step in range(self.repeats[number].period):
            for row in zip(*reads_of(self.row(number, step)), strict=True):
                if own_numbers(row, lambda _, op: op in self.at):
                    found.append(((number, step), [NUMBER] * (len(row) - 1)))
                else:
                    found.append(((number, step), turn_by_turn(row, self.at, self.given)))
        return found

    def _compare(self, number: int, found: list[tuple[Slot, Pairs]]) -> None:
        """Find the most turns in a row in which all operations read alike, and what they read there."""
        repeat = self.repeats[number]
        self.pairs.append(found)
        self.runs.append(alike([pairs for _, pairs in found], repeat.count))
        if len(jumping(pairs for _, pairs in found)) > 1 and not self._passes(number):
            self.unordered.add(number)
        turns = max(self.runs[number], key=len)
        self.turns.append(turns)
        self.lengths.append(len(turns) * repeat.period)
        self.relations.update({(number, step): [] for step in range(repeat.period)})
        for slot, pairs in found:
            self.relations[slot].append((pairs[turns[0]] if len(turns) > 1 else None) or ())

    def _passes(self, number: int) -> bool:
        """Whether a turn in the middle of a stretch reads another turn of it, sums so far apart."""
        repeat, turn = self.repeats[number], self.repeats[number].count // 2
        start = repeat.start + turn * repeat.period
        for op in self.steps[start : start + repeat.period]:
            for value in reads(op):
                place = self.at.get(value.op) if isinstance(value, OpResult) else None
                if place and place[0] == number and place[2] != turn and not is_part(op, value):
                    return True
        return False


def _parts(repeat: Repeat, runs: Iterable[range]) -> Iterator[Repeat]:
    """What of a stretch has many turns that read alike, each part with the turn before them, which the first
    of them reads."""
    after = 0
    for run in runs:
        if PARTS * len(run) >= repeat.count and run.stop - after > 1:
            start = repeat.start + max(after, run.start - 1) * repeat.period
            after = run.stop
            yield Repeat(start, repeat.period, repeat.start + after * repeat.period)
