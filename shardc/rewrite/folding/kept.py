"""What passes make of folded programs, kept in the user's cache folder.

    key = key_of(module, "propagate {}", …)     # of the program as it is, and the passes that follow
    if not take(key, module):
        with made(key, module):
            …                                   # run them

A folded program lacks the layers in the middle of its stacks. An edit there of a number, which layers may
differ in, leaves the rest as it was; so what the passes made of it is taken from the folder, without planning
and localizing it anew. The key is all of the folded program, places in the text included, for reasons and
warnings name lines. What is not in it no pass looks at before outline-calls: the numbers of the layers that
are missing (numbers.py), and the whole function's signature.

An entry is JSON: operations and attributes of the module (dialects/kept_operations.py), what the passes
warned of, and the effort of planning, which counts again.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from shardc import cache
from shardc.diagnostics import Location, collecting, titles_of, warn
from shardc.dialects import kept_attributes, kept_operations
from shardc.dialects.context import make_context
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.locations import location_of, source_of
from shardc.planning.effort import counting, spend
from shardc.rewrite.folding.places import FOLDED, TOLD_APART

Key = tuple[str, ...]

_ELSEWHERE = ("function", "locations", "names", "numbers")
"""What a folded module says of the whole one that only unfold-layers asks for."""


def key_of(module: ModuleOp, *passes: str) -> Key | None:
    """What the outcome of passes on a folded module depends on; None if nothing is kept."""
    if cache.ANEW.get() or cache.folder() is None:
        return None
    notes = [
        DictionaryAttr({key: attr for key, attr in stack.data.items() if key not in _ELSEWHERE})
        for stack in cast("ArrayAttr[DictionaryAttr]", module.attributes[FOLDED])
    ]
    try:
        program = kept_operations.written(module.body.block.ops, _place)
        said = [_attributes(module), *map(kept_attributes.written, notes)]
    except Unkept:
        return None
    titles = [[file, *titles_of(file)] for file in kept_operations.files(program)]
    return ("folded", *passes, _text([said, titles]), _text(program))


def take(key: Key, module: ModuleOp) -> bool:
    """Put into a module what was made of it before, and warn as then. False if nothing is kept."""
    entry = cache.get(*key)
    if entry is None:
        return False
    kept = json.loads(entry)
    block = module.body.block
    for op in list(block.ops):
        op.detach()
    block.add_ops(kept_operations.read(kept["program"], make_context()))
    made = cast("DictionaryAttr", kept_attributes.read(kept["attributes"])).data
    module.attributes = {**made, FOLDED: module.attributes[FOLDED]}
    for message, place, hint in kept["said"]:
        warn(message, Location(*place), hint)
    spend(kept["effort"])
    return True


@contextmanager
def made(key: Key, module: ModuleOp) -> Generator[None]:
    """Keep what is made of a module meanwhile, if it is so whatever numbers the missing layers have."""
    with counting() as effort, collecting() as warnings:
        yield
    for each in warnings:
        warn(each.message, each.loc, each.hint)
    if module.attributes.pop(TOLD_APART, None) is not None or FOLDED not in module.attributes:
        return
    try:
        kept = {
            "program": kept_operations.written(module.body.block.ops),
            "attributes": _attributes(module),
            "said": [[w.message, [w.loc.file, w.loc.line, w.loc.col, w.loc.name], w.hint] for w in warnings],
            "effort": effort.entries,
        }
    except Unkept:
        return
    cache.put(_text(kept).encode(), *key)


def _attributes(module: ModuleOp) -> list[Any]:
    return kept_attributes.written(
        DictionaryAttr({key: attr for key, attr in module.attributes.items() if key != FOLDED})
    )


def _place(attr: Attribute) -> Attribute:
    """The place that a location of any kind means, which is all that passes ask of it."""
    return source_of(location_of(attr))


def _text(kept: object) -> str:
    return json.dumps(kept, separators=(",", ":"))
