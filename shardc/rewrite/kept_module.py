"""A module, and what else came of making it, as bytes and back.

    with watched() as made:
        …                                   # what makes the module
    entry = packed(written(module, made, places))
    taken(unpacked(entry), module, places)  # puts that into a module, warns again, counts again

An entry has the operations and attributes of the module (dialects/kept_operations.py), what was warned of,
and the effort of planning. Places are ranks among those of the program (source_places.py), in texts, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

from msgspec import Struct, msgpack
from numpy.typing import NDArray
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from shardc.diagnostics import Diagnostic, Location, collecting, pass_on, titles_of, warn
from shardc.dialects import kept_attributes, kept_operations
from shardc.dialects.context import make_context
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.locations import location_of, source_of
from shardc.planning.effort import Effort, counting, spend
from shardc.rewrite.source_places import SourcePlaces, Text, Where

Key = tuple[str, ...]
"""What an entry is kept under."""

_SAID = "said"
"""What a text is called that says lines."""


class Watched(Struct, frozen=True):
    """What was warned of while a module was made, and the effort of planning it."""

    warnings: list[Diagnostic]
    effort: Effort


@contextmanager
def watched() -> Generator[Watched]:
    """Take down what is warned of and planned meanwhile; the warnings are passed on afterwards."""
    with counting() as effort, collecting() as warnings:
        yield Watched(warnings, effort)
    pass_on(warnings)


def written(
    module: ModuleOp,
    made: Watched,
    places: SourcePlaces,
    without: Collection[str] = (),
    seen: Callable[[Operation], kept_operations.Properties] = lambda op: op.properties,
) -> dict[str, Any]:
    """The entry, for a program of these places: the module's attributes are all but those `without`,
    properties those that are `seen`. Unkept if some attribute has no form, LookupError if something is said
    of a place that the program has not."""
    program = kept_operations.written(module.body.block.ops, placed_by(places.rank), seen)
    program["attributes"] = [_ranked(part, places) for part in program["attributes"]]
    entry = {
        "program": program,
        "attributes": attributes_of(module, without),
        "said": said_of(made.warnings, places),
        "effort": made.effort.entries,
    }
    if places.are_said(packed(entry)):
        raise Unkept("a text says a line, or the program's file, where nobody looks for one")
    return entry


def _ranked(part: Any, places: SourcePlaces) -> Any:
    """A part of a kept program, with ranks for the lines that it says."""
    ranked = places.ranked(part) if isinstance(part, str) else part
    return {_SAID: ranked} if ranked is not part else part


def _told(part: Any, places: SourcePlaces) -> Any:
    """The part, with the lines that it says."""
    held = cast("dict[str, Text]", part).get(_SAID) if isinstance(part, dict) else None
    return cast("Any", part) if held is None else places.told(held)


def taken(entry: dict[str, Any], module: ModuleOp, places: SourcePlaces) -> None:
    """Put what an entry has into the module in place of what is there, for a program of these places."""
    block = module.body.block
    for op in list(block.ops):
        op.detach()
    program: kept_operations.Kept = entry["program"]
    parts: list[Any] = program["attributes"]
    program["attributes"] = [_told(part, places) for part in parts]
    block.add_ops(kept_operations.read(program, make_context(), places.place))
    module.attributes = dict(cast("DictionaryAttr", kept_attributes.read(entry["attributes"])).data)
    say(entry["said"], places)
    spend(entry["effort"])


Said = tuple[Text, list[Any], Text | None]
"""A warning as it is kept: what it says, its place, and its hint."""


def said_of(warnings: Iterable[Diagnostic], places: SourcePlaces | None = None) -> list[Said]:
    """Warnings as JSON, with ranks for their places, if some are given. LookupError of others."""

    def said(warning: Diagnostic) -> Said:
        message, loc, hint = warning.message, warning.loc, warning.hint
        if places is None:
            return message, [loc.file, loc.line, loc.col, loc.name], hint
        loc, text = places.rank(loc), None if hint is None else places.ranked(hint)
        return places.ranked(message), [loc.file, loc.line, loc.col, loc.name], text

    return [said(warning) for warning in warnings]


def say(said: Iterable[Said], places: SourcePlaces | None = None) -> None:
    """Warn again."""
    for message, where, hint in said:
        loc = Location(*where)
        if places is None:
            warn(cast("str", message), loc, cast("str | None", hint))
        else:
            warn(places.told(message), places.place(loc), None if hint is None else places.told(hint))


def placed_by(place: Where) -> Callable[[Attribute], Attribute]:
    """What says for a location of any kind the place that it means."""
    return lambda attr: source_of(place(location_of(attr)))


def attributes_of(module: ModuleOp, without: Collection[str] = ()) -> list[Any]:
    """The attributes of a module as JSON, but for some."""
    held = {key: attr for key, attr in module.attributes.items() if key not in without}
    return kept_attributes.written(DictionaryAttr(held))


def titles(program: kept_operations.Kept) -> list[list[str]]:
    """The files of a program whose lines have titles, with these."""
    return [[file, *titles_of(file)] for file in kept_operations.files(program)]


def digest(*parts: str | bytes) -> str:
    """What stands for some texts and bytes in a key."""
    found = hashlib.sha256()
    for part in parts:
        held = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        found.update(b"%d:" % len(held) + held)
    return found.hexdigest()


def written_number(number: NDArray[Any]) -> str:
    """Equal for equal numbers of one dtype."""
    return f"{_named(number.dtype)} {number.tobytes().hex()}"


_named = cache(str)
"""The name of a dtype, which NumPy makes anew each time."""


def packed(kept: object) -> bytes:
    """What is to be kept, or stands in a key, in the form of MessagePack; Unkept if that has none for it: for
    half a character, or an integer of more than 64 bits."""
    try:
        return msgpack.encode(kept)
    except (UnicodeEncodeError, OverflowError) as error:
        raise Unkept(str(error)) from None


def unpacked(entry: bytes) -> Any:
    """What was packed; tuples are lists."""
    return msgpack.decode(entry)
