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
from shardc.rewrite.folding.reads import reads
from shardc.rewrite.folding.sums import is_part
from shardc.rewrite.folding.turns import NUMBER, Pairs, Reading, alike, jumping, turn_by_turn

PARTS = 4
"""A stretch is cut into so many parts at most, where layers between them differ from all others."""


class Stretches(Struct, dict=True):
    """Stretches of a block, each a number of turns of the same operations. Operations that are `taken` are of
    stacks that were found before."""

    steps: Sequence[Operation]
    repeats: Sequence[Repeat]
    made: Callable[[AbstractSet[Operation]], Given]
    """What is given of operations where these are of layers."""
    taken: AbstractSet[Operation]

    def __post_init__(self) -> None:
        self.at: dict[Operation, tuple[int, int, int]] = {}
        """Stretch, step and turn."""
        for number, repeat in enumerate(self.repeats):
            for index in range(repeat.start, repeat.stop):
                turn, step = divmod(index - repeat.start, repeat.period)
                self.at[self.steps[index]] = number, step, turn
        self.given = self.made(self.taken | self.at.keys())
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

        for number in range(len(self.repeats)):
            self._compare(number)

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

    def _compare(self, number: int) -> None:
        """Find the most turns in a row in which all operations read alike, and what they read there."""
        repeat, found = self.repeats[number], list[tuple[Slot, Pairs]]()
        for step in range(repeat.period):
            for row in zip(*map(reads, self.row(number, step)), strict=True):
                if own_numbers(row, lambda _, op: op in self.at):
                    found.append(((number, step), [NUMBER] * (len(row) - 1)))
                else:
                    found.append(((number, step), turn_by_turn(row, self.at, self.given)))
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
