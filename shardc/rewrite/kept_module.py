"""A module, and what else came of making it, as bytes and back.

    with watched() as made:
        …                                   # what makes the module
    entry = packed(written(module, made))
    taken(unpacked(entry), module)          # puts that into a module, warns again, counts again

An entry has the operations and attributes of the module (dialects/kept_operations.py), what was warned of,
and the effort of planning.
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
from shardc.rewrite.columns import Where

Key = tuple[str, ...]
"""What an entry is kept under."""


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
    without: Collection[str] = (),
    place: Where | None = None,
    seen: Callable[[Operation], kept_operations.Properties] = lambda op: op.properties,
) -> dict[str, Any]:
    """The entry: the module's attributes are all but those `without`, places what `place` says, properties
    those that are `seen`. Unkept if some attribute has no form."""
    return {
        "program": kept_operations.written(module.body.block.ops, placed_by(place), seen),
        "attributes": attributes_of(module, without),
        "said": said_of(made.warnings, place),
        "effort": made.effort.entries,
    }


def taken(entry: dict[str, Any], module: ModuleOp, place: Where = lambda loc: loc) -> None:
    """Put what an entry has into the module in place of what is there; places are what `place` says."""
    block = module.body.block
    for op in list(block.ops):
        op.detach()
    block.add_ops(kept_operations.read(entry["program"], make_context(), place))
    module.attributes = dict(cast("DictionaryAttr", kept_attributes.read(entry["attributes"])).data)
    say(entry["said"], place)
    spend(entry["effort"])


def said_of(warnings: Iterable[Diagnostic], place: Where | None = None) -> list[Any]:
    """Warnings as JSON."""
    pairs = ((w, place(w.loc) if place else w.loc) for w in warnings)
    return [[w.message, [loc.file, loc.line, loc.col, loc.name], w.hint] for w, loc in pairs]


def say(said: Iterable[Any], place: Where = lambda loc: loc) -> None:
    """Warn again."""
    for message, where, hint in said:
        warn(message, place(Location(*where)), hint)


def placed_by(place: Where | None) -> Callable[[Attribute], Attribute]:
    """What says for a location of any kind the place that it means; without `place` the location as it is."""
    return (lambda attr: source_of(place(location_of(attr)))) if place else (lambda attr: attr)


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
