"""Where the operations of layers that are missing go, and what they read.

The layer before the cut and the one after it do the same: each operation reads the same value as the other,
or one that is as many layers away. So do those in between, and they are copies of the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from msgspec import Struct
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardc.graph.marks import NUMBERS
from shardc.rewrite.alike import Alike
from shardc.rewrite.folding.given import Given
from shardc.rewrite.folding.notes import Folded, Unlike
from shardc.rewrite.folding.numbers import Numbers
from shardc.rewrite.folding.places import Place, Slot, in_stack, places_of
from shardc.rewrite.folding.reads import reads

Slots = tuple[tuple[Slot, int], ...]
"""The slots of an operation, each so many layers after its first."""

Key = tuple[Slots, int]
"""The slots of an operation, and a number among those that have the same."""

At = tuple[Key, int]
"""Key and layer."""


Wanted = tuple[SSAValue, "Read | None", int]
"""A value that is read here; how, if it is of a layer, and then of which layer of the whole program."""


class Read(Struct, frozen=True):
    """What an operation reads of a layer `layers` further on: a result of another, or an argument."""

    layers: int
    key: Key | None
    index: int
    slot: Slot = ()


NOT_KNOWN = Read(0, None, -1)


class Layers(Struct, dict=True):
    """The operations of a folded block by layer, and how those at the cut read each other."""

    block: Block
    notes: Folded
    arguments: Sequence[BlockArgument]
    at: dict[Operation, At] = {}
    rows: dict[Key, dict[int, Operation]] = {}
    relations: dict[Key, list[Read | None]] = {}
    """For each operation of the layers at the cut what it reads; None for what all layers read."""
    shared: dict[Operation, list[tuple[SSAValue, Read | None]]] = {}

    def __post_init__(self) -> None:
        self.slots = {
            argument: (place[:-1], place[-1])
            for argument, place in zip(self.arguments, self.notes.places, strict=True)
            if place
        }
        self._find()
        self.numbers = Numbers(self.notes.stack, self.notes.numbers)
        cut, self.alike = self.notes.cut, Alike(ignored=lambda name: name.startswith("shardc."))
        self.given = Given(self.alike, self.at)
        for key, row in self.rows.items():
            if cut - 1 in row or cut in row:
                if not (cut - 1 in row and cut in row):
                    raise Unlike(f"{next(iter(row.values())).name} is in one of the layers at the cut")
                self.relations[key] = self._relations(row)
        for op in self.block.ops:
            if op is not self.block.last_op:
                self._check(op)

    def _find(self) -> None:
        self.shared_with_others: set[Operation] = set()
        """Those that are of a layer of another stack, too."""
        seen: dict[tuple[Slots, int], int] = defaultdict(int)
        self.last = 0
        found, wholes = dict[Operation, list[Place]](), dict[str, list[Place]]()
        for op in self.block.ops:
            every = places_of(op)
            places = in_stack(every, self.notes.stack)
            if places:
                found[op] = places
                if len(places) < len(every):
                    self.shared_with_others.add(op)
                if isinstance(op, CallOp):
                    wholes[_callee(op)] = max(wholes.get(_callee(op), []), places, key=len)
        for op, places in found.items():
            slots, first = _slots(places)
            if isinstance(op, CallOp):
                slots, first = _as_in_others(places, wholes[_callee(op)]) or (slots, first)
            key = slots, seen[slots, first]
            seen[slots, first] += 1
            self.at[op] = key, first
            if slots[-1][0][0] != NUMBERS:
                self.last = max(self.last, first)
            self.rows.setdefault(key, {})[first] = op

    def _relations(self, row: Mapping[int, Operation]) -> list[Read | None]:
        """What an operation reads before the cut, as its like after it does; where that stands next to what
        is of no layer, as its like in the layer before."""
        cut = self.notes.cut
        own = self.numbers.slot(row[cut - 1], 0)
        if own is not None and own == self.numbers.slot(row[cut], -1):
            return []
        try:
            return self._alike(row, cut)
        except Unlike:
            if cut - 2 not in row:
                raise
            return self._alike(row, cut - 1)

    def _alike(self, row: Mapping[int, Operation], layer: int) -> list[Read | None]:
        """What an operation of a layer reads, and in the same way that of the layer before."""
        one, two = row[layer - 1], row[layer]
        if self.alike.kind(one) != self.alike.kind(two):
            raise Unlike(f"{one.name} differs")
        return [self._relation(*pair, layer) for pair in zip(reads(one), reads(two), strict=True)]

    def _relation(self, one: SSAValue, two: SSAValue, layer: int) -> Read | None:
        if one is two:
            return None
        before, after = self.read(one, layer - 1), self.read(two, layer)
        if before is not None and before == after:
            return before
        if self.given.constant(one) is None or self.given.constant(one) != self.given.constant(two):
            raise Unlike("other values are read")
        return None

    def read(self, value: SSAValue, layer: int) -> Read | None:
        """A value as an operation of a layer reads it; None if it is of no layer."""
        if isinstance(value, BlockArgument):
            place = self.slots.get(value)
            return None if place is None else Read(place[1] - layer, None, 0, place[0])
        assert isinstance(value, OpResult)
        at = self.at.get(value.op)
        return None if at is None else Read(at[1] - layer, at[0], value.index)

    def _check(self, op: Operation) -> None:
        """Unlike if what lies between an operation and what it reads cannot be told."""
        at, cut, known = self.at.get(op), self.notes.cut, self._known(op)
        for value, relation in zip(reads(op), known or repeat(NOT_KNOWN), strict=False):
            read = self.read(value, at[1] if at else 0)
            if read is None or relation in (read, None):
                continue
            if at is None:
                reach = self.notes.reach
                if reach < read.layers < self.last - reach:
                    raise Unlike(f"{op.name} of no layer reads what a layer in the middle makes")
            elif (at[1] < cut) != (at[1] + read.layers < cut):
                raise Unlike(f"{op.name} reads across the cut as no other does")

    # Where the layers go

    def new(self, layer: int) -> int:
        """The number of a layer of the folded program in the whole one."""
        return layer if layer < self.notes.cut else layer + self.notes.removed

    def order(self) -> Iterator[tuple[Operation, int | None]]:
        """Every operation of the whole program: one that is there, or of which layer that is missing."""
        ops = list(self.block.ops)
        place = {op: index for index, op in enumerate(ops)}
        after: dict[Operation, list[tuple[Operation, int]]] = {}
        among: dict[int, tuple[int, list[tuple[Operation, int | None]]]] = {}
        for ones, twos in self._clusters(place):
            missing = range(self.notes.cut, self.notes.cut + self.notes.removed)
            if place[ones[-1]] < place[twos[0]]:
                after[ones[-1]] = [(op, layer) for layer in missing for op in ones]
            elif place[twos[-1]] < place[ones[0]]:
                after[twos[-1]] = [(op, layer) for layer in reversed(missing) for op in ones]
            else:
                first, last = (pick(place[ones[at]], place[twos[at]]) for pick, at in ((min, 0), (max, -1)))
                among[first] = last + 1, self._among(ops[first : last + 1], ones, twos)
        at = 0
        while at < len(ops):
            if at in among:
                at, some = among[at]
                yield from some
            else:
                yield ops[at], None
                yield from after.get(ops[at], ())
                at += 1

    def _among(
        self, ops: Sequence[Operation], ones: Sequence[Operation], twos: Sequence[Operation]
    ) -> list[tuple[Operation, int | None]]:
        """The order where layers that stay stand between each other, each as far from the next as any of its
        operations is. Unlike where these are not."""
        place, removed = {op: index for index, op in enumerate(ops)}, self.notes.removed
        apart = {place[two] - place[one] for one, two in zip(ones, twos, strict=True)}
        if len(apart) != 1:
            raise Unlike("the layers at the cut stand between each other")
        (layer,), first, last = apart, {*ones}, {*twos}
        end = max(place[ones[-1]], place[twos[-1]]) - abs(layer)
        found: list[tuple[int, Operation, int | None]] = []
        for at, op in enumerate(ops):
            late = op in (last if layer > 0 else first) or (op not in first and op not in last and at > end)
            found.append((at + removed * abs(layer) if late else at, op, None))
            if op in first:
                begin = at if layer > 0 else at + removed * abs(layer)
                copies = range(1, removed + 1)
                found += ((begin + turn * layer, op, self.notes.cut - 1 + turn) for turn in copies)
        return [(op, number) for _, op, number in sorted(found, key=lambda each: each[0])]

    def _clusters(self, place: dict[Operation, int]) -> Iterator[tuple[list[Operation], list[Operation]]]:
        """Operations before and after the cut that stand together, each in order."""
        rows = (self.rows[key] for key in self.relations)
        pairs = sorted(
            ((row[self.notes.cut - 1], row[self.notes.cut]) for row in rows),
            key=lambda pair: min(place[pair[0]], place[pair[1]]),
        )
        while pairs:
            end, count = -1, 0
            while count < len(pairs) and (count == 0 or min(map(place.__getitem__, pairs[count])) < end):
                end = max(end, *map(place.__getitem__, pairs[count]))
                count += 1
            together, pairs = pairs[:count], pairs[count:]
            ones, twos = zip(*together, strict=True)
            yield sorted(ones, key=place.__getitem__), sorted(twos, key=place.__getitem__)

    def wanted(self, op: Operation, layer: int | None) -> list[Wanted]:
        """What an operation reads in the whole program; of a layer that is missing, if that is said."""
        if op not in self.at:
            return [(value, None, 0) for value in reads(op)]
        whole = self.new(self.at[op][1]) if layer is None else layer
        return [(value, read, whole + read.layers if read else 0) for value, read in self._shared(op)]

    def _shared(self, op: Operation) -> list[tuple[SSAValue, Read | None]]:
        """What an operation of a layer reads, and how: the same in all layers that are copies of it."""
        if op not in self.shared:
            values, (_, own) = reads(op), self.at[op]
            known = self._known(op) or [None] * len(values)
            pairs = zip(values, known, strict=True)
            self.shared[op] = [
                (value, read if read is not None and read == self.read(value, own) else None)
                for value, read in pairs
            ]
        return self.shared[op]

    def _known(self, op: Operation) -> list[Read | None] | None:
        """What operations like this one read at the cut; None if there are none."""
        at = self.at.get(op)
        if at is None or at[0] not in self.relations:
            return None
        like = self.rows[at[0]][self.notes.cut - 1]
        return self.relations[at[0]] if self.alike.kind(op) == self.alike.kind(like) else None


def _callee(call: CallOp) -> str:
    return call.callee.string_value()


def _slots(places: Iterable[Place]) -> tuple[Slots, int]:
    """The slots of an operation, and its first layer."""
    first = min(layer for _, layer in places)
    return tuple(sorted({(slot, layer - first) for slot, layer in places})), first


def _as_in_others(places: Sequence[Place], whole: Sequence[Place]) -> tuple[Slots, int] | None:
    """The slots of the call of a function that has all places, and which layer is then the first of a call
    that lacks some; None if it has others.

    Where layers begin within a function, a call next to the first or last layer runs operations of none.
    """
    (slots, _), (slot, layer) = _slots(whole), places[0]
    for other, further in slots:
        first = layer - further
        if other == slot and {(slot, layer - first) for slot, layer in places} <= {*slots}:
            return slots, first
    return None
