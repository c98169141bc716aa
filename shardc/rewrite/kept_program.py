"""What compiling made of a program, kept in the user's cache folder, whatever numbers are in it.

    kept = sought(module, "target='jax'", …)    # of the program as it was read, and what is asked
    if not kept.take(module):
        with kept.made(module):
            …                                   # compile it, but for the pass that computes with numbers

A float is any number until then, as long as it is none with a meaning of its own (planning/program/
canonical.py). What a program becomes may depend on which of its numbers are equal, and on no more: the key is
all else of the program, and for each number which one of the distinct numbers it is. So what was made of it
is found after an edit of a rate or a scale, wherever that stands, if no two are equal now that were not, or
the other way round. Numbers that are there now are put into it.

Likewise with columns, which move when a number before them has more digits: in the key each is its rank among
those of its line.

Passes make no such numbers of their own. Where one is in what was made that is not in the program, nothing is
kept. An entry is JSON: operations and attributes of the module (dialects/kept_operations.py), for each
number which one it is, what the compilation warned of, and the effort of planning, which counts again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from msgspec import Struct, structs
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from shardc import cache
from shardc.diagnostics import Diagnostic, Location, collecting, titles_of, warn
from shardc.dialects import kept_attributes, kept_operations
from shardc.dialects.context import make_context
from shardc.dialects.convert import dense
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.locations import location_of, source_of
from shardc.dialects.nested import nested
from shardc.dialects.types import type_of
from shardc.graph import Dense
from shardc.ops import hlo
from shardc.planning.effort import counting, spend
from shardc.planning.program.canonical import is_any
from shardc.rewrite.constants import constant_of

Key = tuple[str, ...]

WORTH = 500
"""Operations: fewer are compiled about as quickly as they are looked up."""

_VALUE = "value"


class Columns(Struct):
    """The columns of each line that are named, in order."""

    of_line: Mapping[tuple[str | None, int], list[int]]

    @staticmethod
    def of(ops: Iterable[Operation]) -> Columns:
        """Those of operations and of the arguments of their bodies."""
        attrs = dict[int, Attribute]()
        for op in ops:
            attrs[id(op.location)] = op.location
            blocks = [block for region in op.regions for block in region.blocks]
            attrs.update((id(arg.location), arg.location) for block in blocks for arg in block.args)
        found = dict[tuple[str | None, int], set[int]]()
        for loc in map(location_of, attrs.values()):
            found.setdefault((loc.file, loc.line), set()).add(loc.col)
        return Columns({line: sorted(columns) for line, columns in found.items()})

    def rank(self, loc: Location) -> Location:
        """The place, with the rank of its column in place of that. LookupError if the program has it not."""
        if not loc.file:
            return loc
        try:
            rank = self.of_line[loc.file, loc.line].index(loc.col)
        except ValueError:
            raise LookupError from None
        return structs.replace(loc, col=rank)

    def ranked(self, attr: Attribute) -> Attribute:
        """The place, so, that a location of any kind means."""
        return source_of(self.rank(location_of(attr)))

    def place(self, loc: Location) -> Location:
        """The place with this rank of a column."""
        return structs.replace(loc, col=self.of_line[loc.file, loc.line][loc.col]) if loc.file else loc


class Sought(Struct):
    """What a program is compiled to, as far as the folder has it: the key, and the program's numbers and
    columns."""

    key: Key
    numbers: Sequence[Dense]
    columns: Columns

    def take(self, module: ModuleOp) -> bool:
        """Put into the module what was made of it before, and warn as then. False if nothing is kept."""
        entry = cache.get(*self.key)
        if entry is None:
            return False
        kept, block = json.loads(entry), module.body.block
        for op in list(block.ops):
            op.detach()
        block.add_ops(kept_operations.read(kept["program"], make_context(), self.columns.place))
        left = (op for op in nested([module]) if op.name == hlo.constant.name and not _has_value(op))
        which: list[int] = kept["numbers"]
        for op, number in zip(left, which, strict=True):
            held = Dense(self.numbers[number].data, type_of(op.results[0].type).shape)
            op.properties[_VALUE] = dense(held)
        module.attributes = dict(cast("DictionaryAttr", kept_attributes.read(kept["attributes"])).data)
        say(kept["said"], self.columns.place)
        spend(kept["effort"])
        return True

    @contextmanager
    def made(self, module: ModuleOp) -> Generator[None]:
        """Keep what is made of the module meanwhile."""
        with counting() as effort, collecting() as warnings:
            yield
        for each in warnings:
            warn(each.message, each.loc, each.hint)
        numbers = {_content(number): place for place, number in enumerate(self.numbers)}
        left, ranked = _numbers(nested([module])), self.columns.ranked
        try:
            kept = {
                "numbers": [numbers[_content(number)] for number in left.values()],
                "program": kept_operations.written(module.body.block.ops, ranked, partial(_seen, left)),
                "attributes": kept_attributes.written(DictionaryAttr(module.attributes)),
                "said": said_of(warnings, self.columns.rank),
                "effort": effort.entries,
            }
        except (Unkept, LookupError):  # of a number or a column that the program has not
            return
        cache.put(text(kept).encode(), *self.key)


def sought(module: ModuleOp, *said: str) -> Sought | None:
    """What is to be looked for of a program of which what is `said` is asked; None if nothing is kept."""
    if cache.ANEW.get() or cache.folder() is None:
        return None
    ops = nested([module])
    if len(ops) < WORTH:
        return None
    numbers = _numbers(ops)
    distinct = {_content(number): number for number in numbers.values()}
    places = {content: place for place, content in enumerate(distinct)}
    columns = Columns.of(ops)
    try:
        seen = partial(_seen, numbers)
        program = kept_operations.written(module.body.block.ops, columns.ranked, seen, back=False)
        attributes = kept_attributes.written(DictionaryAttr(module.attributes))
    except (Unkept, LookupError):  # where bodies jump, values may be read before they are made
        return None
    titles = [[file, *titles_of(file)] for file in kept_operations.files(program)]
    which = [places[_content(number)] for number in numbers.values()]
    key = ("program", *said, text([attributes, titles, which]), text(program))
    return Sought(key, [*distinct.values()], columns)


def _numbers(ops: Iterable[Operation]) -> dict[Operation, Dense]:
    """The constants that are any numbers, in program order."""
    constants = [op for op in ops if op.name == hlo.constant.name and _VALUE in op.properties]
    held = ((op, constant_of(op.results[0])) for op in constants)
    return {op: number for op, number in held if number is not None and is_any(number.data)}


def _has_value(op: Operation) -> bool:
    return _VALUE in op.properties or _VALUE in op.attributes


def _content(number: Dense) -> tuple[str, bytes]:
    """Equal for equal numbers of one type."""
    return number.data.dtype.str, number.data.tobytes()


def _seen(numbers: Mapping[Operation, Dense], op: Operation) -> dict[str, Attribute]:
    """The properties of an operation, without what number it is."""
    if op.name != hlo.constant.name or op not in numbers:
        return op.properties
    return {name: attr for name, attr in op.properties.items() if name != _VALUE}


def _same(loc: Location) -> Location:
    return loc


def place(attr: Attribute) -> Attribute:
    """The place that a location of any kind means, which is all that passes ask of it."""
    return source_of(location_of(attr))


def said_of(warnings: Iterable[Diagnostic], place: Callable[[Location], Location] = _same) -> list[Any]:
    """Warnings as JSON; of where they are what `place` says."""
    pairs = ((w, place(w.loc)) for w in warnings)
    return [[w.message, [loc.file, loc.line, loc.col, loc.name], w.hint] for w, loc in pairs]


def say(said: Iterable[Any], place: Callable[[Location], Location] = _same) -> None:
    """Warn again, where `place` says."""
    for message, where, hint in said:
        warn(message, place(Location(*where)), hint)


def text(kept: object) -> str:
    return json.dumps(kept, separators=(",", ":"))
