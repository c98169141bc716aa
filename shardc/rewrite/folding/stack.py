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
from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardc.graph.marks import NUMBERS
from shardc.rewrite.folding.given import Given
from shardc.rewrite.folding.lines import Edge, lines_of
from shardc.rewrite.folding.numbers import any_number, own_numbers
from shardc.rewrite.folding.places import Place, Slot
from shardc.rewrite.folding.reads import reads, reads_of
from shardc.rewrite.folding.stretches import PARTS, Stretches
from shardc.rewrite.folding.sums import order_sums, sums_of
from shardc.rewrite.folding.turns import ARGUMENT, MOVES, NUMBER, SAME, Reading

FOLLOWING, MADE, OF_ARGUMENTS, SUMS = range(4)
"""Stretches beyond those that are: of what follows from layers, of what is made of an argument before a layer
reads it, of what is made of layers' arguments besides, and of sums of these."""


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
    """The direction of the layers of stretches, and the range of layers in which all are equal."""

    kinds: Sequence[Hashable]
    stretches: Stretches

    def __post_init__(self) -> None:
        self.given, self.taken, self.at = self.stretches.given, self.stretches.taken, self.stretches.at
        self.relations = self.stretches.relations
        self.kind = dict(zip(self.stretches.steps, self.kinds, strict=True))
        self.layers: dict[Operation, int] = {}  # also those outside of the range

    def stack(self) -> Stack | None:
        """The layers that all stretches have which pass values to each other, and what follows from them."""
        lines = lines_of(self.stretches.lengths, self._edges())
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
        return self._checked(self._all(ops, high - low), high - low) if ops else None

    def _all(self, ops: dict[Operation, Place], count: int) -> dict[Operation, Place]:
        """These operations of layers, what follows from them and from what they read, and sums of that."""
        self._know(ops)
        sums = [each for each in sums_of(self.stretches.steps) if len(each.ops) >= count]
        sums = [each for each in sums if ops.keys().isdisjoint(each.ops)]
        self.adding = {op for each in sums for op in each.ops}
        turns, ops = ops, {**ops, **self._beyond(ops, count)}
        arguments = self._arguments(ops, count)
        if of_arguments := self._beyond(ops, count, arguments):
            ops.update(of_arguments)
            self._know(ops)
        if self.taken:
            return ops  # of several stacks the layers of one are ordered, so that those of each stay so
        for op, place in order_sums(sums, ops, count, len(self.stretches.repeats) + SUMS, turns).items():
            self.relations[place[0]] = [MOVES] * len(op.operands)
            ops[op] = place
        return ops

    def _know(self, ops: dict[Operation, Place]) -> None:
        self.given = self.stretches.made(self.taken | ops.keys())

    # Layers, counted alike in all stretches

    def _edges(self) -> Iterator[Edge]:
        """What the stretches read of each other."""
        for (number, step), relations in self.relations.items():
            turn = self.stretches.turns[number][0]
            for operand, relation in enumerate(relations):
                if len(relation) == 4:
                    read = reads(self.stretches.row(number, step)[turn])[operand]
                    assert isinstance(read, OpResult)
                    yield number, relation[0], relation[3], self.at[read.op][2] - relation[3] * turn

    def _common(self, lines: dict[int, tuple[int, int]]) -> tuple[int, int]:
        """The first layer and the one after the last that all stretches have; those go out of `lines` that
        have few of the others' layers."""
        low, high = -inf, inf
        for number in sorted(lines, key=lambda number: (-self.stretches.lengths[number], number)):
            ends = self._layers(lines, number)
            first, after = max(low, min(ends)), min(high, max(ends) + 1)
            if high < inf and PARTS * (after - first) < high - low:
                del lines[number]
            else:
                low, high = first, after
        return int(low), int(high)

    def _layers(self, lines: dict[int, tuple[int, int]], number: int) -> tuple[int, int]:
        """The layers of the first and last turn of a stretch in which everything reads alike."""
        (sign, offset), turns = lines[number], self.stretches.turns[number]
        return sign * turns[0] + offset, sign * turns[-1] + offset

    # What follows from the layers, without repeating where it stands

    def _beyond(
        self, ops: dict[Operation, Place], count: int, arguments: Mapping[BlockArgument, Place] | None = None
    ) -> dict[Operation, Place]:
        """Other operations that do in every layer the same with what it makes: updates of weights, say; or
        with its `arguments`."""
        arguments, stretch = arguments or {}, FOLLOWING if arguments is None else OF_ARGUMENTS
        places, found = dict(ops), dict[Slot, list[tuple[Operation, int]]]()
        slots, seen = dict[Hashable, Slot](), dict[tuple[Hashable, int], int]()
        for op, kind in self.kind.items():
            if op in ops or op in self.taken or op in self.adding:
                continue
            known = [self._known(value, places, arguments) for value in reads(op)]
            layer = next((layer for _, layer in known if layer is not None), None)
            if layer is None:
                continue
            key = kind, *((what, None if at is None else at - layer) for what, at in known)
            number = seen[key, layer] = seen.get((key, layer), -1) + 1
            slot = slots.setdefault((key, number), (len(self.stretches.repeats) + stretch, len(slots)))
            places[op] = slot, layer
            found.setdefault(slot, []).append((op, layer))
        whole = {slot: each for slot, each in found.items() if self._in_all_layers(slot, each, count)}
        return {op: (slot, layer) for slot, each in whole.items() for op, layer in each}

    def _known(
        self, value: SSAValue, places: dict[Operation, Place], arguments: Mapping[BlockArgument, Place]
    ) -> tuple[Hashable, int | None]:
        """What a value is, and of which layer."""
        if isinstance(value, BlockArgument) and value in arguments:
            return arguments[value]
        if arguments and isinstance(value, OpResult) and value.op in places:
            slot, layer = places[value.op]
            return (slot, value.index), layer
        number = any_number(value) if self.given.has(value) else None
        kind = self.given.of(value) if number is None else number
        if kind is not None:
            return kind, None
        assert isinstance(value, OpResult)
        if value.op not in places:
            return self._own(value) or value, None
        slot, layer = places[value.op]
        return (slot, value.index), layer

    def _own(self, value: SSAValue) -> Hashable | None:
        """Equal for values that are made alike of the same ones, each for whoever reads it alone."""
        if not isinstance(value, OpResult) or value.op not in self.kind or not value.has_one_use():
            return None
        return None if value.op in self.taken else (self.kind[value.op], value.index, *reads(value.op))

    def _in_all_layers(self, slot: Slot, each: Sequence[tuple[Operation, int]], count: int) -> bool:
        """Whether there is one of a slot in each layer. If so, note what they read."""
        if sorted(layer for _, layer in each) != [*range(count)]:
            return False
        relations = self.relations[slot] = list[Reading]()
        for row in zip(*reads_of([op for op, _ in each]), strict=True):
            if own_numbers(row, lambda number, op: op is each[number][0]):
                relations.append(NUMBER)
                continue
            different, kind = len(set(row)), self.given.of(row[0])
            if any_number(row[0]) and any(self.given.of(value) != kind for value in row):
                return False
            elif (
                kind is None
                and different == count
                and self._own(row[0]) is not None
                and len({*map(self._own, row)}) == 1
            ):
                relations.append(ARGUMENT)
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
                    continue
                there, further = known.setdefault(key, (place[0], place[1] - layer))
                if further != place[1] - layer or there != place[0]:
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
                new = len(self.stretches.repeats) + MADE, len(waiting)
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
        if slot[0] < len(self.stretches.repeats):
            members = [(op, self.layers[op]) for op in self.stretches.row(*slot)]
        values = [(reads(op)[operand].owner, layer) for op, layer in members]
        if not any(op in ops for op, _ in values):
            new = NUMBERS, sum(known[0] == NUMBERS for known in self.relations)
            self.relations[new] = []
            ops.update((op, (new, layer)) for op, layer in values if isinstance(op, Operation))
