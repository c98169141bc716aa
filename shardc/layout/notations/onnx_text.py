"""ONNX sharding specifications as text and as dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from shardc.layout.mesh import LayoutError
from shardc.layout.notations.onnx_spec import ShardedDim, ShardingSpec, SimpleShard
from shardc.layout.notations.values import Fields, Value, parse


def read_spec(text: str) -> ShardingSpec:
    """The specification in protobuf text, JSON, or the form of the proposals, braces around it optional."""
    stripped = text.strip()
    value = parse(stripped if stripped.startswith("{") else "{" + stripped + "}")
    if not isinstance(value, Fields):
        raise LayoutError(f"{text!r} is no ShardingSpecProto")
    return from_fields(value)


def from_fields(fields: Fields | Mapping[Any, Any]) -> ShardingSpec:
    """The specification in a dictionary. LayoutError names the field that cannot be."""
    known = {
        "device": "device",
        "sharded_dim": "sharded_dim",
        "index_to_device_group_map": "groups",
        "device_map": "groups",
        "tensor_name": "tensor_name",
    }
    found: dict[str, list[Any]] = {name: [] for name in known.values()}
    for key, value in fields_of(fields):
        if key not in known:
            raise LayoutError(f"a ShardingSpecProto has no {key}; it has {', '.join(known)}")
        found[known[key]].append(value)
    groups = [pair for value in found["groups"] for pair in _groups(value)]
    name = found["tensor_name"][0] if found["tensor_name"] else ""
    dims = tuple(_sharded_dim(entry) for entry in repeated(found["sharded_dim"]))
    return ShardingSpec(_numbers(found["device"], "device"), dims, tuple(groups), str(name))


def fields_of(fields: Any) -> Iterator[tuple[str, Any]]:
    """(key, value) of a dictionary or of parsed braces."""
    if isinstance(fields, Fields):
        pairs: Iterable[tuple[Any, Any]] = fields.entries
    elif isinstance(fields, Mapping):
        pairs = cast("Mapping[Any, Any]", fields).items()
    else:
        raise LayoutError(f"expected fields in braces, not {fields}")
    for key, value in pairs:
        if key is None:
            raise LayoutError(f"expected fields such as axis: 0, not {value}")
        yield str(getattr(key, "text", key)), value


def repeated(values: list[Any]) -> list[Any]:
    """A repeated field, given as one list or one by one."""
    found: list[Any] = []
    for value in values:
        found += cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]  # pyright: ignore[reportUnknownArgumentType]
    return found


def _numbers(values: list[Any], what: str) -> tuple[int, ...]:
    items = repeated(values)
    for item in items:
        if not isinstance(item, int):
            raise LayoutError(f"{what} is a list of numbers, not {item}")
    return tuple(items)


def _groups(value: Any) -> Iterator[tuple[int, tuple[int, ...]]]:
    """`{-1: [0, 1]}`, or messages `{key: -1 value: 0 value: 1}`."""
    if isinstance(value, tuple | list):
        for item in cast("Iterable[Any]", value):
            yield from _groups(item)
        return
    entries = list(fields_of(value))
    if entries and entries[0][0] == "key":
        keys = _numbers([item for name, item in entries if name == "key"], "a key")
        yield keys[0], _numbers([item for name, item in entries if name == "value"], "a device group")
        return
    for key, members in entries:
        if not key.lstrip("-").isdigit():
            raise LayoutError(f"{key} is no key of a device group; keys are numbers")
        yield int(key), _numbers([members], "a device group")


def _sharded_dim(value: Value) -> ShardedDim:
    """An axis with its factors; `{axis: 0, num_shards: 2}` is short for one factor."""
    fields = list(fields_of(value))
    axes = _numbers([item for name, item in fields if name == "axis"], "axis")
    if not axes:
        raise LayoutError("a sharded_dim needs its axis")
    shards = [_shard(item) for item in repeated([item for name, item in fields if name == "simple_sharding"])]
    rest = [(name, item) for name, item in fields if name not in ("axis", "simple_sharding")]
    return ShardedDim(axes[0], tuple(shards or [_shard(dict(rest))]))


def _shard(value: Any) -> SimpleShard:
    fields = dict(fields_of(value))
    known = ("dim_value", "dim_param", "num_shards")
    if unknown := [name for name in fields if name not in known]:
        raise LayoutError(f"a simple_sharding has no {unknown[0]}; it has {', '.join(known)}")
    count = fields.get("num_shards")
    if not isinstance(count, int):
        raise LayoutError("a simple_sharding needs num_shards, a number")
    return SimpleShard(count, fields.get("dim_value", fields.get("dim_param")))


def to_dict(spec: ShardingSpec) -> dict[str, Any]:
    """The fields under their names in onnx.proto, those left empty absent."""
    dims = [
        {"axis": dim.axis, "simple_sharding": [_shard_dict(s) for s in dim.simple_sharding]}
        for dim in spec.sharded_dim
    ]
    fields = {
        "tensor_name": spec.tensor_name,
        "device": list(spec.device),
        "index_to_device_group_map": {key: list(members) for key, members in spec.groups},
        "sharded_dim": dims,
    }
    return {name: value for name, value in fields.items() if value}


def write_spec(spec: ShardingSpec) -> str:
    """One line in the form of the proposals, which `read_spec` reads."""
    return "{" + " ".join(_lines(to_dict(spec))) + "}"


def _shard_dict(shard: SimpleShard) -> dict[str, Any]:
    name = "dim_param" if isinstance(shard.dim, str) else "dim_value"
    return ({} if shard.dim is None else {name: shard.dim}) | {"num_shards": shard.num_shards}


def _lines(fields: Mapping[Any, Any]) -> Iterator[str]:
    for name, value in fields.items():
        yield f"{name} = {_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        if all(isinstance(key, int) for key in entries):
            return "{" + ", ".join(f"{key}: {_value_text(item)}" for key, item in entries.items()) + "}"
        return "{" + " ".join(_lines(entries)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value_text, cast("list[Any]", value))) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)
