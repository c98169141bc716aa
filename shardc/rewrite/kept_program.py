"""What compiling made of a program, kept in the user's cache folder, whatever numbers are in it.

    kept = sought(module, "target='jax'", …)    # of the program as it was read, and what is asked
    if not kept.take(module):
        with kept.made(module):
            …                                   # compile it, but for the pass that computes with numbers

A float is any number until then, as long as it is none with a meaning of its own (graph/any_number.py). What
a program becomes may depend on which of its numbers are equal, and on no more: the key is all else of the
program, and for each number which one of the distinct numbers it is. So what was made of it is found after
an edit of a rate or a scale, wherever that stands, if no two are equal now that were not, or the other way
round. Numbers that are there now are put into it.

Likewise with places, which move when a number before them has more digits, or when a line is written above:
in the key each is its rank among those of the program (source_places.py).

Passes make no such numbers of their own. Where one is in what was made that is not in the program, nothing
is kept. An entry is the module with what came of making it (kept_module.py), and for each number which one it
is.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import Struct
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from shardc import cache
from shardc.dialects import kept_operations
from shardc.dialects.convert import dense
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.nested import nested
from shardc.dialects.types import type_of
from shardc.graph import Dense
from shardc.graph.any_number import is_any
from shardc.ops import hlo
from shardc.rewrite.constants import constant_of
from shardc.rewrite.folding.skeleton import FunctionNames, Skeleton
from shardc.rewrite.kept_module import (
    Key,
    attributes_of,
    digest,
    packed,
    placed_by,
    taken,
    titles,
    unpacked,
    watched,
    written,
    written_number,
)
from shardc.rewrite.source_places import SourcePlaces, says_line

WORTH = 500
"""Operations: fewer are compiled about as quickly as they are looked up."""

_VALUE = "value"


class Sought(Struct):
    """What a program is compiled to, as far as the folder has it.

    That is the key, the distinct numbers of the program, its places, for each number which one it is, and
    the program without numbers and functions, unless it was not read.
    computed: the numbers that the last pass computed with or made, each with its place among the distinct
    ones; -1 for one that is not there. is_kept: whether the folder has what was made, for all numbers.
    """

    key: Key
    numbers: Sequence[Dense]
    places: SourcePlaces
    which: Sequence[int]
    skeleton: Skeleton | None = None
    computed: dict[str, int] = {}
    is_kept: bool = False

    def told(self, numbers: Sequence[NDArray[Any]]) -> None:
        """The last pass computes with these numbers, or makes them."""
        places = self._known() if len(numbers) else {}
        self.computed.update((name, places.get(name, -1)) for name in map(written_number, numbers))

    def _known(self) -> dict[str, int]:
        return {written_number(number.data): place for place, number in enumerate(self.numbers)}

    def remember(self, what: str, said: str) -> None:
        """Keep what is said of the program whatever numbers it has, but for those that are computed with."""
        entry = packed([said, self.computed])
        if self.is_kept and not says_line(entry) and not self.places.are_said(entry):
            cache.put(entry, what, *self.key)

    def recall(self, what: str) -> str | None:
        """What was to be remembered of the program; None if nothing was, or of other numbers."""
        entry = cache.get(what, *self.key)
        if entry is None:
            return None
        said, computed = unpacked(entry)
        places = self._known()
        return said if all(places.get(name, -1) == place for name, place in computed.items()) else None

    def take(self, module: ModuleOp, weighed: bool = False) -> bool:
        """Put into the module what was made of it before, and warn as then. False if nothing is kept, or
        nothing that was `weighed` (folding/weight.py), if that is to be."""
        entry = cache.get(*self.key)
        kept = None if entry is None else unpacked(entry)
        if kept is None or (weighed and not kept["weighed"]):
            return False
        self.is_kept = True
        taken(kept, module, self.places)
        left = (op for op in nested([module]) if op.name == hlo.constant.name and not _has_value(op))
        which: list[int] = kept["numbers"]
        for op, number in zip(left, which, strict=True):
            held = Dense(self.numbers[number].data, type_of(op.results[0].type).shape)
            op.properties[_VALUE] = dense(held)
        return True

    @contextmanager
    def made(self, module: ModuleOp, weighed: bool = False) -> Generator[None]:
        """Keep what is made of the module meanwhile, and whether that is `weighed`."""
        with watched() as found:
            yield
        numbers = {content(number): place for place, number in enumerate(self.numbers)}
        left = _numbers(nested([module]))
        try:
            which = [numbers[content(number)] for number in left.values()]
            entry = written(module, found, self.places, seen=partial(_seen, left))
            cache.put(packed({"numbers": which, "weighed": weighed, **entry}), *self.key)
        except (Unkept, LookupError):  # of a number or a place that the program has not
            return
        self.is_kept = True


def sought(module: ModuleOp, *said: str) -> Sought | None:
    """What is to be looked for of a program of which what is `said` is asked; None if nothing is kept."""
    if cache.ANEW.get() or cache.folder() is None:
        return None
    ops = nested([module])
    if len(ops) < WORTH:
        return None
    numbers = _numbers(ops)
    distinct, which = told_apart(numbers.values())
    places, named = SourcePlaces.of(ops), FunctionNames()
    try:
        rest = _rest(module, said, numbers, named, places)
        if rest is None:
            places = places.fixed()
            rest = _rest(module, said, numbers, named, places)
    except (Unkept, LookupError):  # where bodies jump, values may be read before they are made
        return None
    assert rest is not None, "lines don't move"
    functions = [op for op in ops if named.stands_for(op)]
    told = digest(rest, packed([which, [op.name for op in functions]]))
    skeleton = Skeleton(rest, numbers, functions, places)
    return Sought(("program", told), distinct, places, which, skeleton)


def _rest(
    module: ModuleOp,
    said: Iterable[str],
    numbers: Mapping[Operation, Dense],
    named: FunctionNames,
    places: SourcePlaces,
) -> str | None:
    """What stands for a program without its numbers, functions and places, and what is `said`; None if lines
    move, and a text may say one. Unkept if it has no form."""
    program = kept_operations.written(
        module.body.block.ops, placed_by(places.rank), partial(_seen, numbers), named.known, back=False
    )
    held = packed(program), packed([attributes_of(module), titles(program)])
    if any(map(places.are_said, held)):
        return None
    return digest(*said, *held)


def told_apart(numbers: Iterable[Dense]) -> tuple[list[Dense], list[int]]:
    """The distinct ones of some numbers, and for each which of these it is."""
    places = dict[tuple[str, bytes], int]()
    which, distinct = list[int](), list[Dense]()
    for number in numbers:
        place = places.setdefault(content(number), len(places))
        which.append(place)
        if place == len(distinct):
            distinct.append(number)
    return distinct, which


def _numbers(ops: Iterable[Operation]) -> dict[Operation, Dense]:
    """The constants that are any numbers, in program order."""
    constants = [op for op in ops if op.name == hlo.constant.name and _VALUE in op.properties]
    held = ((op, constant_of(op.results[0])) for op in constants)
    return {op: number for op, number in held if number is not None and is_any(number.data)}


def _has_value(op: Operation) -> bool:
    return _VALUE in op.properties or _VALUE in op.attributes


def content(number: Dense) -> tuple[str, bytes]:
    """Equal for equal numbers of one type."""
    return number.data.dtype.str, number.data.tobytes()


def _seen(numbers: Mapping[Operation, Dense], op: Operation) -> dict[str, Attribute]:
    """The properties of a constant, without what number it is."""
    if op not in numbers:
        return op.properties
    return {name: attr for name, attr in op.properties.items() if name != _VALUE}
