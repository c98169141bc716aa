"""What passes make of folded programs, kept in the user's cache folder.

    key, own = sought(module, "propagate {}", …)    # of the program as it is, and the passes that follow
    if put(key, module, own, …) is None:
        with made(key, module, own):
            …                                       # run them

A folded program lacks the layers in the middle of its stacks. An edit of a number, which layers may differ
in, leaves the rest as it was; so what the passes made of it is taken from the folder, without planning and
localizing it anew. The key is all of the folded program, and of its places in the text which are equal and
which comes first (source_places.py). What is not in it no pass looks at before outline-calls: the numbers and
functions that layers have for themselves (numbers.py, functions.py), those of no layer, and the whole
function's signature.

Numbers that are there are put into what is taken. All that passes may ask of them is whether two are equal.
Where they made one of two, nothing is kept; so what they made would be the same were fewer of them equal, and
it is taken if constants that are equal now were equal then.

Where passes made one of what two functions give that layers may have for themselves, it is kept for programs
in which none has.

An entry is the module with what came of making it (rewrite/kept_module.py), and the constants of the folded
program. Another has the module after the passes that make functions of layers, under its numbers too: only to
those passes does it matter which numbers layers have.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from shardc import cache
from shardc.dialects import kept_attributes, kept_operations
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.nested import nested
from shardc.graph import Dense
from shardc.ops import hlo
from shardc.rewrite.constants import constant_of
from shardc.rewrite.folding.notes import has_own
from shardc.rewrite.folding.numbers import is_number, number_in, numbered, numbers_of, put_number
from shardc.rewrite.folding.places import FOLDED, FUNCTIONS_TOLD_APART, TOLD_APART, Place
from shardc.rewrite.folding.weight import WORK
from shardc.rewrite.kept_module import (
    Key,
    Watched,
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
from shardc.rewrite.source_places import SourcePlaces

_ELSEWHERE = ("function", "locations", "names", "numbers", "functions", "part")
"""What a folded module says of the whole one that only unfold-layers asks for."""


class Own(Struct, frozen=True):
    """What a folded program has that is not in its key: constants, numbers, notes, and its places."""

    constants: list[str | None]
    numbers: Mapping[Place, Dense]
    notes: ArrayAttr[DictionaryAttr]
    places: SourcePlaces

    def outlined(self, key: Key, passes: Sequence[str]) -> Key:
        """The key of what these passes, which make functions of layers, make of what is kept under a key.
        Unkept if a number has no form."""
        numbers = sorted(
            (*slot, layer, written_number(each.data)) for (slot, layer), each in self.numbers.items()
        )
        return ("outlined", *key, digest(*passes, packed([numbers, *map(_rows, self.notes)])))


def sought(module: ModuleOp, *passes: str) -> tuple[Key, Own] | None:
    """What the outcome of passes on a folded module depends on, and what it has of its own; None if nothing
    is kept."""
    if cache.ANEW.get() or cache.folder() is None:
        return None
    places = SourcePlaces.of(nested([module]))
    try:
        key = _key(module, places, *passes)
        if key is None:
            places = places.fixed()
            key = _key(module, places, *passes)
    except Unkept:
        return None
    assert key is not None, "lines don't move"
    folded = cast("ArrayAttr[DictionaryAttr]", module.attributes[FOLDED])
    return key, Own(constants_of(module), numbers_of(module), folded, places)


def _key(module: ModuleOp, places: SourcePlaces, *passes: str) -> Key | None:
    """The key; None if lines move, and a text may say one. Unkept if an attribute has no form."""
    notes = [
        DictionaryAttr({key: attr for key, attr in stack.data.items() if key not in _ELSEWHERE})
        for stack in cast("ArrayAttr[DictionaryAttr]", module.attributes[FOLDED])
    ]
    program = kept_operations.written(module.body.block.ops, placed_by(places.rank), _seen, back=False)
    said = [attributes_of(module, [FOLDED]), *map(kept_attributes.written, notes)]
    held = packed([said, titles(program)]), packed(program)
    return None if any(map(places.are_said, held)) else ("folded", digest(*passes, *held))


def _rows(stack: DictionaryAttr) -> list[Any]:
    """The numbers that layers of a stack have for themselves, slot by slot; most layers have the same one."""
    known = dict[int, list[Any]]()

    def written(number: Attribute) -> list[Any]:
        if id(number) not in known:
            known[id(number)] = kept_attributes.written(number)
        return known[id(number)]

    rows = cast("ArrayAttr[ArrayAttr[Attribute]]", stack.data.get("numbers", ArrayAttr([])))
    return [[written(number) for number in row] for row in rows]


def put(key: Key, module: ModuleOp, own: Own, weighed: bool, outlining: Sequence[str]) -> bool | None:
    """Put into a module what was made before of a folded program that has this of its own, and warn as then;
    whether that is after the passes `outlining`, as it is if that is kept. None if nothing is kept, or
    nothing that was `weighed`, if that is to be.
    """
    with suppress(Unkept):
        data = cache.get(*own.outlined(key, outlining)) if outlining else None
        if data is not None and _put(unpacked(data), module, own, weighed):
            return True
    data = cache.get(*key)
    kept = None if data is None else unpacked(data)
    if kept is None or not _as_equal(own.constants, kept["constants"]):
        return None
    if kept["told_apart"] and any("functions" in each.data for each in own.notes):
        return None
    if not _put(kept, module, own, weighed):
        return None
    for op, places in numbered(module):
        put_number(op, own.numbers[places[0]])
    return False


def _put(kept: dict[str, Any], module: ModuleOp, own: Own, weighed: bool) -> bool:
    if weighed and not kept["weighed"]:
        return False
    taken(kept, module, own.places)
    module.attributes[FOLDED] = own.notes
    return True


class Made(Struct):
    """Whether what was made is kept, for whatever functions layers have for themselves."""

    of_any: bool = False


@contextmanager
def made(key: Key, module: ModuleOp, own: Own) -> Generator[Made]:
    """Keep what is made of a module meanwhile, if it is so whatever numbers the missing layers have."""
    result = Made()
    with watched() as found:
        yield result
    of_numbers, of_functions = (
        module.attributes.pop(name, None) is not None for name in (TOLD_APART, FUNCTIONS_TOLD_APART)
    )
    if of_numbers or FOLDED not in module.attributes or (of_functions and has_own(module)):
        return
    left = [(*places, number_in(op)) for op, places in numbered(module)]
    if {*left} != {*own.numbers.items()}:
        return
    kept = keep(key, module, own, found, constants=own.constants, told_apart=of_functions)
    result.of_any = kept and not of_functions


def keep(key: Key, module: ModuleOp, own: Own, found: Watched, **more: object) -> bool:
    """Keep a module that has become of a folded one, with `more`; whether it has a form that can be kept."""
    try:
        entry = written(module, found, own.places, [FOLDED])
        cache.put(packed({"weighed": WORK in module.attributes, **more, **entry}), *key)
    except (Unkept, LookupError):  # of a place that the program has not
        return False
    return True


def _seen(op: Operation) -> dict[str, Attribute]:
    """The properties of a constant that passes look at."""
    return {k: v for k, v in op.properties.items() if k != "value"} if is_number(op) else op.properties


def constants_of(module: ModuleOp) -> list[str | None]:
    """The numbers of a program's constants, in order, with their dtypes; None of other arrays."""
    held = (constant_of(op.results[0]) for op in nested([module]) if op.name == hlo.constant.name)
    return [None if each is None else written_number(each.data) for each in held]


def _as_equal(now: list[str | None], then: list[str | None]) -> bool:
    """Whether those that are equal now were equal then."""
    known = dict[str | None, str | None]()
    return len(now) == len(then) and all(
        known.setdefault(one, other) == other for one, other in zip(now, then, strict=True)
    )
