"""Attributes as JSON, and back: what a kept module (kept_operations.py) is made of besides operations.

    written(StringAttr("x"))      ["xdsl.dialects.builtin:StringAttr", "x"]
    read(written(attr)) == attr

An attribute is its class and its parameters, or the Python value that it holds: numbers, texts, tuples,
arrays, constants, and the records of shardc. Reading makes no classes but attributes,
records and enumerations of these two.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute

from shardc.graph import Dense
from shardc.graph.types import DTYPES, name_of

_ROOMS = ("shardc.", "xdsl.")
_PLAIN = (str, int, float, bool, type(None))


class Unkept(Exception):
    """An attribute holds what JSON has no form for here."""


def written(attr: Attribute) -> list[Any]:
    """The attribute as JSON. Unkept if it cannot be."""
    if isinstance(attr, ParametrizedAttribute):
        return [_class_name(type(attr)), *map(written, attr.parameters)]
    if isinstance(attr, Data):
        held = cast("Data[Any]", attr)
        return [_class_name(held.__class__), _value(held.data)]
    raise Unkept(attr.name)


def read(kept: list[Any]) -> Attribute:
    """The attribute that was written. Unkept for JSON that is none."""
    cls = _class(kept[0])
    if issubclass(cls, ParametrizedAttribute):
        return cls.new([read(part) for part in kept[1:]])
    if issubclass(cls, Data):
        return cast("type[Data[Any]]", cls).new(_read_value(kept[1]))
    raise Unkept(kept[0])


def _value(value: Any) -> Any:
    """Plain values are themselves, all others a list: what they are, then of what."""
    if type(value) in _PLAIN:
        return value
    for kind, name, write in _WRITERS:
        if isinstance(value, kind):
            return [name, write(value)]
    if isinstance(value, Struct):
        parts = [_value(getattr(value, field)) for field in value.__struct_fields__]
        return ["class", _class_name(type(value)), *parts]
    raise Unkept(f"a {type(value).__name__}")


def _read_value(kept: Any) -> Any:
    if not isinstance(kept, list):
        return kept
    name, *parts = cast("list[Any]", kept)
    if name == "class":
        cls = _class(parts[0])
        named = {name: _read_value(part) for name, part in zip(cls.__struct_fields__, parts[1:], strict=True)}
        return cls(**named)
    return _READERS[name](parts[0])


def _class_name(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


@cache
def _class(name: str) -> type[Any]:
    """The class of that name, which is an attribute's, a record, or an enumeration. Unkept for others."""
    module, _, path = name.partition(":")
    if not module.startswith(_ROOMS) or "." in path:
        raise Unkept(name)
    found: Any = getattr(import_module(module), path, None)
    if isinstance(found, type) and issubclass(found, Attribute | Enum | Struct):
        return cast("type[Any]", found)
    raise Unkept(name)


def _array(array: np.ndarray[Any, Any]) -> list[Any]:
    name = name_of(array.dtype)
    if name is None:
        raise Unkept(str(array.dtype))
    return [name, list(array.shape), base64.b85encode(array.tobytes()).decode("ascii")]


def _read_array(kept: list[Any]) -> np.ndarray[Any, Any]:
    name, shape, text = kept
    return np.frombuffer(base64.b85decode(text), DTYPES[name][1]).reshape(shape)


@lru_cache(maxsize=1 << 10)
def _known(attr: Attribute) -> list[Any]:
    """As written; arguments are many, and their annotations few."""
    return written(attr)


def _dict(value: Mapping[str, Any]) -> list[Any]:
    return [[key, _known(held)] for key, held in value.items()]


_WRITERS: list[tuple[type, str, Callable[[Any], Any]]] = [
    (Attribute, "attribute", written),
    (bytes, "bytes", lambda value: base64.b85encode(value).decode("ascii")),
    (Enum, "enum", lambda value: [_class_name(value.__class__), value.name]),
    (np.ndarray, "array", _array),
    (np.generic, "scalar", lambda value: _array(np.asarray(value))),
    (Dense, "dense", lambda value: [_value(value.data), list(value.shape)]),
    (tuple, "tuple", lambda value: [*map(_value, value)]),
    (Mapping, "dict", _dict),
]
_READERS: dict[str, Callable[[Any], Any]] = {
    "attribute": read,
    "bytes": base64.b85decode,
    "enum": lambda kept: getattr(_class(kept[0]), kept[1]),
    "array": _read_array,
    "scalar": lambda kept: _read_array(kept)[()],
    "dense": lambda kept: Dense(_read_value(kept[0]), tuple(kept[1])),
    "tuple": lambda kept: tuple(map(_read_value, kept)),
    "dict": lambda kept: DictionaryAttr({key: read(held) for key, held in kept}).data,
}
