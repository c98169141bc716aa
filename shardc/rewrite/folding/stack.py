"""Equal layers of a block, and what passes between them.

A model that is written as a loop in Python comes as one layer after the other: operations that repeat, of
which each reads what the same operation of another layer made, an argument of its own, or what all layers
read. The backward pass repeats too, in the other order. A `Stack` says of each such operation and argument
which layer it belongs to, and its place there (its *slot*), so that

    operation (slot, layer) reads value (slot', layer + n), with one n for all layers

holds for every operand but those that are the same value in all layers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from math import inf

from msgspec import Struct
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardc.graph.repeats import Repeat
from shardc.rewrite.folding.given import Given
from shardc.rewrite.folding.lines import Edge, lines_of
from shardc.rewrite.folding.numbers import any_number, own_numbers
from shardc.rewrite.folding.places import NUMBERS, Place, Slot
from shardc.rewrite.folding.reads import reads
from shardc.rewrite.folding.turns import (
    ARGUMENT,
    MOVES,
    NUMBER,
    SAME,
    Pairs,
    Reading,
    alike,
    turn_by_turn,
)

PARTS = 4
"""A stretch is cut into so many parts at most, where layers between them differ from all others."""


class Stack(Struct, frozen=True):
    """The places of operations and arguments in layers 0 to `count` - 1; `reach`: the greatest n.

    `given` says what stands outside of layers and is made of arguments and constants.
    """

    ops: dict[Operation, Place]
    arguments: dict[BlockArgument, Place]
    given: Given
    count: int
    reach: int

    def place(self, value: SSAValue) -> Place | None:
        """Of the operation that makes a value, or of the argument."""
        if isinstance(value, OpResult):
            return self.ops.get(value.op)
        return self.arguments.get(value) if isinstance(value, BlockArgument) else None


class Finder(Struct, dict=True):
    """Stretches, the direction of their layers, and the range of layers in which all are equal."""

    steps: Sequence[Operation]
    kinds: Sequence[Hashable]
    stretches: Sequence[Repeat]
    made: Callable[[AbstractSet[Operation]], Given]
    """What is given of operations where these are of layers."""
    taken: AbstractSet[Operation]
    """Operations of other stacks."""

    def __post_init__(self) -> None:
        self.at: dict[Operation, tuple[int, int, int]] = {}
        """Stretch, step and turn."""
        for number, repeat in enumerate(self.stretches):
            for index in range(repeat.start, repeat.stop):
                turn, step = divmod(index - repeat.start, repeat.period)
                self.at[self.steps[index]] = number, step, turn
        self.given = self.made(self.taken | self.at.keys())
        self.layers: dict[Operation, int] = {}  # also those outside of the range
        self.relations: dict[Slot, list[Reading]] = {}
        """What the operations of each slot read, in the turns below."""
        self.runs: list[list[range]] = []
        """Per stretch the turns in a row in which everything reads alike."""
        self.turns: list[range] = []
        """Of these the longest."""
        self.lengths: list[int] = []
        """Per stretch the operations of these; a turn at its end that reads otherwise is of no layer."""

        for number in range(len(self.stretches)):
            self._compare(number)

    @property
    def doubtful(self) -> dict[Repeat, list[Repeat]]:
        """The stretches in which most turns don't read what the same operation of the one before reads, and
        the parts in which many do."""
        pairs = zip(self.stretches, self.runs, strict=True)
        return {
            repeat: [*_parts(repeat, runs)]
            for repeat, runs in pairs
            if 2 * max(map(len, runs)) < repeat.count
        }

    def stack(self) -> Stack | None:
        """The layers that all stretches have which pass values to each other, and what follows from them."""
        lines = lines_of(self.lengths, self._edges())
        if lines is None:
            return None
        low, high = self._common(lines)
        ops: dict[Operation, Place] = {}
        for op, (number, step, turn) in self.at.items():
            if number in lines:
                sign, offset = lines[number]
                self.layers[op] = sign * turn + offset - low
                if 0 <= self.layers[op] < high - low:
                    ops[op] = (number, step), self.layers[op]
        self.given = self.made(self.taken | ops.keys())
        return self._checked({**ops, **self._beyond(ops, high - low)}, high - low) if ops else None

    # What the operations of a stretch read

    def _compare(self, number: int) -> None:
        """Find the most turns in a row in which all operations read alike, and what they read there."""
        repeat, found = self.stretches[number], list[tuple[Slot, Pairs]]()
        for step in range(repeat.period):
            rows = [reads(self.steps[i]) for i in range(repeat.start + step, repeat.stop, repeat.period)]
            for row in zip(*rows[: repeat.count], strict=True):
                if own_numbers(row, lambda _, op: op in self.at):
                    found.append(((number, step), [NUMBER] * (len(row) - 1)))
                else:
                    found.append(((number, step), turn_by_turn(row, self.at, self.given)))
        self.runs.append(alike([pairs for _, pairs in found], repeat.count))
        turns = max(self.runs[number], key=len)
        self.turns.append(turns)
        self.lengths.append(len(turns) * repeat.period)
        self.relations.update({(number, step): [] for step in range(repeat.period)})
        for slot, pairs in found:
            self.relations[slot].append((pairs[turns[0]] if len(turns) > 1 else None) or ())

    # Layers, counted alike in all stretches

    def _edges(self) -> Iterator[Edge]:
        """What the stretches read of each other."""
        for (number, step), relations in self.relations.items():
            repeat, turn = self.stretches[number], self.turns[number][0]
            for operand, relation in enumerate(relations):
                if len(relation) == 4:
                    read = reads(self.steps[repeat.start + turn * repeat.period + step])[operand]
                    assert isinstance(read, OpResult)
                    yield number, relation[0], relation[3], self.at[read.op][2] - relation[3] * turn

    def _common(self, lines: dict[int, tuple[int, int]]) -> tuple[int, int]:
        """The first layer and the one after the last that all stretches have; those go out of `lines` that
        have few of the others' layers."""
        low, high = -inf, inf
        for number in sorted(lines, key=lambda number: (-self.lengths[number], number)):
            ends = self._layers(lines, number)
            first, after = max(low, min(ends)), min(high, max(ends) + 1)
            if high < inf and PARTS * (after - first) < high - low:
                del lines[number]
            else:
                low, high = first, after
        return int(low), int(high)

    def _layers(self, lines: dict[int, tuple[int, int]], number: int) -> tuple[int, int]:
        """The layers of the first and last turn of a stretch in which everything reads alike."""
        (sign, offset), turns = lines[number], self.turns[number]
        return sign * turns[0] + offset, sign * turns[-1] + offset

    # What follows from the layers, without repeating where it stands

    def _beyond(self, ops: dict[Operation, Place], count: int) -> dict[Operation, Place]:
        """Other operations that do in every layer the same with what it makes: updates of weights, say."""
        places, found = dict(ops), dict[Slot, list[tuple[Operation, int]]]()
        slots, seen = dict[Hashable, Slot](), dict[tuple[Hashable, int], int]()
        for op, kind in zip(self.steps, self.kinds, strict=True):
            if op in ops or op in self.taken:
                continue
            known = [self._known(value, places) for value in reads(op)]
            layer = next((layer for _, layer in known if layer is not None), None)
            if layer is None:
                continue
            key = kind, *((what, None if at is None else at - layer) for what, at in known)
            number = seen[key, layer] = seen.get((key, layer), -1) + 1
            slot = slots.setdefault((key, number), (len(self.stretches), len(slots)))
            places[op] = slot, layer
            found.setdefault(slot, []).append((op, layer))
        whole = {slot: each for slot, each in found.items() if self._in_all_layers(slot, each, count)}
        return {op: (slot, layer) for slot, each in whole.items() for op, layer in each}

    def _known(self, value: SSAValue, places: dict[Operation, Place]) -> tuple[Hashable, int | None]:
        """What a value is, and of which layer."""
        number = any_number(value) if self.given.has(value) else None
        kind = self.given.of(value) if number is None else number
        if kind is not None:
            return kind, None
        assert isinstance(value, OpResult)
        if value.op not in places:
            return value, None
        slot, layer = places[value.op]
        return (slot, value.index), layer

    def _in_all_layers(self, slot: Slot, each: Sequence[tuple[Operation, int]], count: int) -> bool:
        """Whether there is one of a slot in each layer. If so, note what they read."""
        if sorted(layer for _, layer in each) != [*range(count)]:
            return False
        relations = self.relations[slot] = list[Reading]()
        for row in zip(*(reads(op) for op, _ in each), strict=True):
            if own_numbers(row, lambda number, op: op is each[number][0]):
                relations.append(NUMBER)
                continue
            different, kind = len(set(row)), self.given.of(row[0])
            if any_number(row[0]) and any(self.given.of(value) != kind for value in row):
                return False
            elif kind is None or different == 1:
                relations.append(SAME if different == 1 else MOVES)
            elif different == count or not kind.of_arguments:
                relations.append(ARGUMENT if kind.of_arguments else SAME)
            else:
                return False
        return True

    # Arguments, and the check of it all

    def _checked(self, ops: dict[Operation, Place], count: int) -> Stack | None:
        """The stack, if every operand is read with one n by all layers."""
        arguments = self._arguments(ops, count)
        known, beyond = dict[tuple[Slot, int], tuple[Slot, int]](), list[tuple[tuple[Slot, int], int]]()
        moving = {
            slot: [operand for operand, relation in enumerate(relations) if relation != SAME]
            for slot, relations in self.relations.items()
        }
        for op, (slot, layer) in ops.items():
            values = reads(op) if moving[slot] else ()
            for operand in moving[slot]:
                value = values[operand]
                if isinstance(value, OpResult):
                    place = ops.get(value.op)
                else:
                    place = arguments.get(value) if isinstance(value, BlockArgument) else None
                key = slot, operand
                if place is None:
                    beyond.append((key, layer))
                elif known.setdefault(key, (place[0], place[1] - layer)) != (place[0], place[1] - layer):
                    return None
        if any(key not in known or 0 <= layer + known[key][1] < count for key, layer in beyond):
            return None
        reach = max((abs(layers) for _, layers in known.values()), default=0)
        return Stack(ops, arguments, self.given, count, reach)

    def _arguments(self, ops: dict[Operation, Place], count: int) -> dict[BlockArgument, Place]:
        """The places of arguments of which each layer has its own: those of the first that reads them.

        Operations that make something of an argument before a layer reads it get places, too.
        """
        arguments: dict[BlockArgument, Place] = {}
        members: dict[Slot, list[tuple[Operation, int]]] = defaultdict(list)
        for op, (slot, layer) in ops.items():
            members[slot].append((op, layer))
        waiting = list(members)
        for slot in waiting:
            for operand, relation in enumerate(self.relations[slot]):
                if relation == NUMBER:
                    self._give_numbers(slot, operand, members[slot], ops)
                if relation != ARGUMENT:
                    continue
                values = [(reads(op)[operand], layer) for op, layer in members[slot]]
                given = [(v, layer) for v, layer in values if isinstance(v, BlockArgument)]
                if given and not any(value in arguments for value, _ in given):
                    arguments.update((value, ((*slot, operand), layer)) for value, layer in given)
                made = [(v.op, layer) for v, layer in values if isinstance(v, OpResult)]
                new = len(self.stretches) + 1, len(waiting)
                free = not any(op in ops or op in self.taken for op, _ in made)
                if made and free and self._in_all_layers(new, made, count):
                    ops.update((op, (new, layer)) for op, layer in made)
                    members[new] = made
                    waiting.append(new)
        return arguments

    def _give_numbers(
        self, slot: Slot, operand: int, members: Sequence[tuple[Operation, int]], ops: dict[Operation, Place]
    ) -> None:
        """Give the constants of which each layer has its own a slot, also those outside of the range."""
        if slot[0] < len(self.stretches):
            repeat = self.stretches[slot[0]]
            row = self.steps[repeat.start + slot[1] : repeat.stop : repeat.period][: repeat.count]
            members = [(op, self.layers[op]) for op in row]
        values = [(reads(op)[operand].owner, layer) for op, layer in members]
        if not any(op in ops for op, _ in values):
            new = NUMBERS, sum(known[0] == NUMBERS for known in self.relations)
            self.relations[new] = []
            ops.update((op, (new, layer)) for op, layer in values if isinstance(op, Operation))


def _parts(repeat: Repeat, runs: Iterable[range]) -> Iterator[Repeat]:
    """What of a stretch has many turns that read alike, each part with the turn before them, which the first
    of them reads."""
    after = 0
    for run in runs:
        if PARTS * len(run) >= repeat.count and run.stop - after > 1:
            start = repeat.start + max(after, run.start - 1) * repeat.period
            after = run.stop
            yield Repeat(start, repeat.period, repeat.start + after * repeat.period)
