"""Programs that earlier processes compiled, from the user's cache folder.

    program = compiled(text, options, prove)    # api.compile, or what it gave for the same before

An entry is JSON: the fields of a Program, where a record is a list that begins with its type's name. What a
Program is made of is imported for it, and nothing of the compiler.
"""

from __future__ import annotations

import json
import os
from typing import Any, cast

from msgspec import Struct

from shardc import api, cache
from shardc.api import Program
from shardc.diagnostics import Diagnostic, Location, register_source
from shardc.graph.trees import Branch, Interface
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.options import Options
from shardc.outcome import key
from shardc.proof import VARIABLE

_RECORDS = {
    record.__name__: record
    for record in (Program, Mesh, Sharding, Dim, Axis, Interface, Branch, Diagnostic, Location)
}
_TUPLE = ""


def compiled(text: str, options: Options, prove: bool | None) -> Program:
    """The program of a text, from the cache if it is there. prove: as in shardc.compile."""
    proved = f"prove={prove} {os.environ.get(VARIABLE) if prove is None else ''}"
    found = key(text, options, "program", proved)
    data = None if found is None else cache.get(*found)
    if data is not None:
        register_source(options.file, text)
        return _record(json.loads(data))
    program = api.compile(text, options, prove=prove)
    if found is not None:
        cache.put(json.dumps(_plain(program)).encode(), *found)
    return program


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_TUPLE, *map(_plain, cast("tuple[Any, ...]", value))]
    if isinstance(value, Struct):
        return [type(value).__name__, *(_plain(getattr(value, field)) for field in value.__struct_fields__)]
    return value


def _record(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, *parts = cast("list[Any]", value)
    made = map(_record, parts)
    return tuple(made) if kind == _TUPLE else _RECORDS[kind](*made)
