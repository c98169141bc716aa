"""What passes make of folded programs, found after an edit before layers are looked for.

    edited = Edited(skeleton, "inline-calls {}", …)    # of the program as it was read, and what passes run
    if edited.take(module, False, ()) is None:
        …                                       # the first of them, and the fold
        edited.see(module, cuts)
        …                                       # the others
        edited.keep(key, warnings)              # key: what kept.py has the outcome under

A program is known by all but its float constants and which of a kind its functions of elements are. An entry
says which of those the fold did not depend on, so that they may be others now: constants that are numbers of
layers (numbers.py) and whose kinds nobody asked for (given.py), and functions of layers that went out. All
others must be as they were. Then the folded program is the same, and what was made of it is in the entry of
kept.py; its notes are made anew, with the numbers and the functions that there are now.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, msgpack
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation

from shardc import cache
from shardc.diagnostics import Diagnostic, Location, collecting, pass_on
from shardc.dialects import kept_operations
from shardc.dialects.context import make_context
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.nested import nested
from shardc.graph import Dense
from shardc.graph.marks import NUMBERS
from shardc.ops import hlo
from shardc.rewrite.constants import value_of
from shardc.rewrite.folding import kept
from shardc.rewrite.folding.functions import own_of, row_of
from shardc.rewrite.folding.notes import written_functions
from shardc.rewrite.folding.numbers import numbered
from shardc.rewrite.folding.places import FOLDED, Place, Slot
from shardc.rewrite.folding.skeleton import Skeleton
from shardc.rewrite.kept_module import Key, Said, digest, packed, placed_by, said_of, say, written_number
from shardc.rewrite.source_places import SourcePlaces

if TYPE_CHECKING:
    from shardc.rewrite.folding.cut import Cut

_MADE_ANEW = ("numbers", "functions")
"""The notes of a stack that are not in the entry."""

FunctionRow = tuple[int, int, bool]
"""Which function of the program, the layer, and whether it may be another than those of other layers."""


class _Stack(Struct):
    """A stack of so many layers: rows of its notes, and of each slot the functions, as FunctionRow says."""

    count: int
    numbers: list[list[int]]
    functions: list[tuple[Slot, list[FunctionRow]]]


class _Entry(Struct):
    """What is kept. Numbers and functions are said by their places among the program's.

    `free` may be others, `fixed` stands for the rest. `constants` are those of the folded program, in order:
    a number of the program, or what it is; `numbers` those with slots. `folded` is the key of what passes
    made of it, `places` its places among the program's, and whether its lines move, `said` what was warned of
    before.
    """

    free: tuple[list[int], list[int]]
    fixed: str
    constants: list[int | str | None]
    numbers: list[tuple[Slot, int, int]]
    stacks: list[_Stack]
    notes: dict[str, Any]
    folded: Key = ()
    places: tuple[list[tuple[str | None, int, int]], bool] = ([], False)
    said: list[Said] = []


class Edited:
    """What is kept of programs with one skeleton."""

    def __init__(self, skeleton: Skeleton, *passes: str) -> None:
        self.key: Key = ("edited", skeleton.key, *passes)
        self.places_of = skeleton.places
        self.numbers, self.functions = list(skeleton.numbers.values()), skeleton.functions
        self.places = {op: place for place, op in enumerate(skeleton.numbers)}
        self.written = [written_number(number.data) for number in self.numbers]
        self.values = [value_of(op) for op in skeleton.numbers]
        self.names = [op.name for op in skeleton.functions]
        self.function_places = {op: place for place, op in enumerate(skeleton.functions)}
        self.seen: _Entry | None = None

    def take(self, module: ModuleOp, weighed: bool, outlining: Sequence[str]) -> bool | None:
        """Put into the module what was made of its folded program, with its notes, and warn as then; whether
        that is after the passes `outlining`. None if nothing is kept of it, or of other numbers and functions
        that had to be the same, or nothing that was `weighed`, if that is to be."""
        data = cache.get(*self.key)
        if data is None:
            return None
        entry = msgpack.decode(data, type=_Entry)
        notes = self._notes(entry) if entry.fixed == self._fixed(*entry.free) else None
        if notes is None:
            return None
        constants = [self.written[each] if isinstance(each, int) else each for each in entry.constants]
        numbers = {(slot, layer): self._number(place) for slot, layer, place in entry.numbers}
        places, moves = entry.places
        named = SourcePlaces.among(self.places_of.place(Location(*place)) for place in places)
        own = kept.Own(constants, numbers, notes, named if moves else named.fixed())
        with collecting() as warnings:
            found = kept.put(entry.folded, module, own, weighed, outlining)
        if found is not None:
            say(entry.said, self.places_of)
            pass_on(warnings)
        return found

    def _number(self, place: int) -> Dense:
        return Dense(self.numbers[place].data, ())

    def _fixed(self, numbers: Iterable[int], functions: Iterable[int]) -> str:
        """What stands for all numbers and functions but those that are free to be others."""
        others, free = set(numbers), set(functions)
        left = [each for place, each in enumerate(self.written) if place not in others]
        return digest(packed([left, [name for place, name in enumerate(self.names) if place not in free]]))

    def _notes(self, entry: _Entry) -> ArrayAttr[DictionaryAttr] | None:
        """What is noted of each stack; None where a layer has a function for itself that it may not have."""
        (carrier,) = kept_operations.read(entry.notes, make_context(), self.places_of.place)
        found = list[DictionaryAttr]()
        for notes, stack in zip(_stacks(carrier), entry.stacks, strict=True):
            rows = {
                slot: [(self.names[place], layer, may) for place, layer, may in row]
                for slot, row in stack.functions
            }
            own = own_of(rows, stack.count)
            if own is None:
                return None
            parts: dict[str, Attribute] = dict(notes.data)
            if stack.numbers:
                parts["numbers"] = ArrayAttr(
                    [ArrayAttr([self.values[place] for place in row]) for row in stack.numbers]
                )
            if own:
                parts["functions"] = written_functions(own)
            found.append(DictionaryAttr(parts))
        return ArrayAttr(found)

    def see(self, module: ModuleOp, cuts: Sequence[Cut]) -> None:
        """Take down what the folded module has of the program's numbers and functions."""
        try:
            self.seen = self._seen(module, cuts)
        except (LookupError, Unkept):  # a number or place that the program has not, or no form
            self.seen = None

    def _seen(self, module: ModuleOp, cuts: Sequence[Cut]) -> _Entry:
        if any("part" in notes.data for notes in _stacks(module)):
            raise KeyError("some operations of layers are not the program's")
        asked = cuts[0].stack.given.asked
        held = [
            (op, ((cut.stack_number, *slot), cut.shown(layer)), cut.goes(layer))
            for cut in cuts
            for op, (slot, layer) in cut.stack.ops.items()
            if slot[0] == NUMBERS and op in self.places
        ]
        free = {self.places[op] for op, _, _ in held if op not in asked}
        constants, numbers = self._constants(module, free, {at: op for op, at, goes in held if not goes})
        rows = [[[self.places[op] for op in row] for row in cut.numbers()] for cut in cuts]
        stacks = [_Stack(cut.stack.count, row, self._rows(cut)) for cut, row in zip(cuts, rows, strict=True)]
        may = {place for stack in stacks for _, row in stack.functions for place, _, may in row if may}
        free_of = sorted(free), sorted(place for place in may if not self._is_read(place, asked))
        notes = [
            DictionaryAttr({name: attr for name, attr in stack.data.items() if name not in _MADE_ANEW})
            for stack in _stacks(module)
        ]
        said = placed_by(self.places_of.rank)
        carrier = kept_operations.written([ModuleOp([], {FOLDED: ArrayAttr(notes)})], said)
        return _Entry(free_of, self._fixed(*free_of), constants, numbers, stacks, carrier)

    def _constants(
        self, module: ModuleOp, free: Container[int], of_layers: Mapping[Place, Operation]
    ) -> tuple[list[int | str | None], list[tuple[Slot, int, int]]]:
        """The constants of a folded module, and those that have slots. Of several equal numbers that are not
        free it does not matter which one stands for them."""
        known = {each: place for place, each in enumerate(self.written) if place not in free}
        constants: list[int | str | None] = [*kept.constants_of(module)]
        numbers, at = list[tuple[Slot, int, int]](), _places(module)
        for op, places in numbered(module):
            slot, layer = places[0]
            own = of_layers.get((slot, layer))
            constants[at[op]] = place = known[str(constants[at[op]])] if own is None else self.places[own]
            numbers.append((slot, layer, place))
        return constants, numbers

    def _rows(self, cut: Cut) -> list[tuple[Slot, list[FunctionRow]]]:
        """The functions of a stack that are of kinds, slot by slot."""
        rows: dict[Slot, list[Operation]] = {}
        for op, (slot, _) in cut.stack.ops.items():
            if op in self.function_places:
                rows.setdefault(slot, []).append(op)
        if any(each.slot not in rows for each in cut.functions or ()):
            raise KeyError("a layer has a function for itself that the program has not")
        found = list[tuple[Slot, list[FunctionRow]]]()
        for slot, row in rows.items():
            each = row_of(row, cut.stack.ops, cut.gone)
            pairs = zip(row, each, strict=True)
            found.append((slot, [(self.function_places[op], layer, may) for op, (_, layer, may) in pairs]))
        return found

    def _is_read(self, place: int, asked: set[Operation]) -> bool:
        """Whether the fold may depend on which function there is."""
        op = self.functions[place]
        return op in asked or any(isinstance(value, BlockArgument) for value in op.operands)

    def keep(self, key: Key, own: kept.Own, warnings: Iterable[Diagnostic]) -> None:
        """Keep what was seen, with the key of what the passes made, and what was warned of before."""
        if self.seen is None:
            return
        with suppress(Unkept, LookupError):  # of what was warned of
            ranked = map(self.places_of.rank, own.places.every())
            places = [(loc.file, loc.line, loc.col) for loc in ranked]
            self.seen.folded, self.seen.places = key, (places, own.places.lines is not None)
            self.seen.said = said_of(warnings, self.places_of)
            cache.put(packed(self.seen), *self.key)


def _stacks(holder: Operation) -> Sequence[DictionaryAttr]:
    return list(cast("ArrayAttr[DictionaryAttr]", holder.attributes[FOLDED]))


def _places(module: ModuleOp) -> dict[Operation, int]:
    """Each constant's place among all of them."""
    constants = (op for op in nested([module]) if op.name == hlo.constant.name)
    return {op: place for place, op in enumerate(constants)}
