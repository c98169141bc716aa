"""Reading a model as untrusted input: sizes before bytes, external data only below the model's folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from onnx import ModelProto, TensorProto, helper, numpy_helper

from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.dtypes import DTYPES, dtype_name
from shardc.frontend.onnx.schema import STANDARD, subgraphs
from shardc.frontend.onnx.values import Array
from shardc.graph.types import FOUR_BITS, TensorType, bits_of

MOST_BYTES = 2**31
"""Protocol buffers end here; more is kept as external data."""

MOST_ELEMENTS = 2**48

MOST_DEPTH = 16
"""Bodies of If, Loop and Scan within each other; function calls within each other."""

MOST_NODES = 1 << 17
"""Nodes that are lowered, those of functions once per call."""

OLDEST = 7
"""The oldest opset that is read; of older ones, the operators that it left as they were."""


class Model(Struct, frozen=True):
    """A model, the name that errors give it, and the folder of its external data (None: it may have none)."""

    proto: ModelProto
    file: str
    folder: Path | None = None


def read_model(path: str) -> Model:
    """The model in a file. ShardcError if it can't be read or is none."""
    file = Path(path)
    try:
        if file.stat().st_size >= MOST_BYTES:
            raise ShardcError(f"{path}: a model of 2 GiB or more", hint="keep its weights as external data")
        data = file.read_bytes()
    except OSError as error:
        raise ShardcError(f"cannot read {path}: {(error.strerror or 'failed').lower()}") from None
    return Model(parse_model(data, path), path, file.parent)


def parse_model(data: bytes, file: str) -> ModelProto:
    """The model in these bytes. ShardcError if it is none."""
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception:  # protobuf's DecodeError, which onnx does not name
        raise ShardcError(f"{file} is no ONNX model: it cannot be decoded") from None
    return checked(proto, file)


def checked(proto: ModelProto, file: str) -> ModelProto:
    """The same message. ShardcError if it is no model."""
    if not proto.HasField("graph"):
        raise ShardcError(f"{file} is no ONNX model: it has no graph")
    if not _is_text(proto):
        raise ShardcError(f"{file} is no ONNX model: a name in it is no UTF-8")
    return proto


def twice(names: Iterable[str]) -> str | None:
    """A name that stands more than once, if there is one."""
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            return name
        seen.add(name)
    return None


def _is_text(proto: ModelProto) -> bool:
    """Whether all texts are such; protobuf gives those that are not UTF-8 as bytes."""
    todo: list[Any] = [proto]
    while todo:
        for known, value in todo.pop().ListFields():
            items: Any = value if known.is_repeated else (value,)
            if known.message_type is not None:
                todo += value.values() if isinstance(value, Mapping) else items
            elif known.type == known.TYPE_STRING and bytes in map(type, items):
                return False
    return True


def opsets_of(model: Model) -> dict[str, int]:
    """Domain -> version. ShardcError for versions that are not read."""
    from onnx import defs

    opsets = {("" if o.domain == "ai.onnx" else o.domain): int(o.version) for o in model.proto.opset_import}
    version, newest = opsets.get(""), defs.onnx_opset_version()
    if version is not None and not OLDEST <= version <= newest:
        changed = sorted(_changed(model, version)) if 1 <= version < OLDEST else []
        if changed or not 1 <= version <= newest:
            raise ShardcError(
                f"{model.file} is of opset {version}; shardc reads {OLDEST} to {newest}",
                hint=f"opset {OLDEST} changed {', '.join(changed)}; onnx.version_converter converts models"
                if changed
                else "",
            )
    return opsets


def _changed(model: Model, version: int) -> set[str]:
    """The model's standard operators that opset OLDEST does not have as they were at an older version."""
    found: set[str] = set()
    todo = [model.proto.graph, *model.proto.functions]
    while todo:
        for node in todo.pop().node:
            todo += subgraphs(node)
            if node.domain in STANDARD and _since(node.op_type, version) != _since(node.op_type, OLDEST):
                found.add(node.op_type)
    return found


def _since(name: str, version: int) -> int | None:
    from onnx import defs

    try:
        return int(defs.get_schema(name, version, "").since_version)
    except defs.SchemaError:
        return None


def check_depth(model: Model) -> None:
    """ShardcError for bodies within more than MOST_DEPTH bodies, told without recursion."""
    todo = [(model.proto.graph, 0), *((function, 0) for function in model.proto.functions)]
    while todo:
        graph, depth = todo.pop()
        if depth > MOST_DEPTH:
            raise ShardcError(f"{model.file}: bodies lie in each other more than {MOST_DEPTH} deep")
        todo += [(body, depth + 1) for node in graph.node for body in subgraphs(node)]


def tensor_type(tensor: TensorProto) -> TensorType:
    """Shape and dtype of a stored tensor; ValueError if shardc has no such."""
    if tensor.data_type not in DTYPES:
        raise ValueError(f"a tensor of {dtype_name(tensor.data_type)}")
    shape = tuple(int(size) for size in tensor.dims)
    if any(size < 0 for size in shape) or prod(shape) > MOST_ELEMENTS:
        raise ValueError(f"a tensor of shape {list(shape)}")
    return TensorType(shape, DTYPES[tensor.data_type])


def array_of(tensor: TensorProto, folder: Path | None) -> Array:
    """The elements of a stored tensor, read only if there are as many as its shape says. Else ValueError."""
    type = tensor_type(tensor)
    if tensor.data_location == TensorProto.EXTERNAL:
        return external(tensor, folder)
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != stored_bytes(type):
            raise ValueError(f"{len(tensor.raw_data)} bytes, and its type {type} takes {stored_bytes(type)}")
        if type.dtype in FOUR_BITS:
            return numpy_helper.to_array(tensor)
        return (
            np.frombuffer(tensor.raw_data, type.numpy.newbyteorder("<"))
            .astype(type.numpy)
            .reshape(type.shape)
        )
    field = helper.tensor_dtype_to_field(tensor.data_type)
    count = len(getattr(tensor, field)) // (2 if type.dtype in ("c64", "c128") else 1)
    wanted = stored_bytes(type) if type.dtype in FOUR_BITS else type.size
    if count != wanted:
        raise ValueError(f"{count} elements, and its type {type} takes {wanted}")
    return numpy_helper.to_array(tensor)


def stored_bytes(type: TensorType) -> int:
    """Bytes of a stored tensor, which has several integers of 4 bits in a byte."""
    return -(-type.size * bits_of(type.dtype) // 8)


def external(tensor: TensorProto, folder: Path | None) -> Array:
    """A view of external data; of integers of 4 bits an array, each in a byte of its own. ValueError if
    it lies outside the model's folder, or is too short."""
    type = tensor_type(tensor)
    path, offset = external_place(tensor, folder)
    if not type.nbytes:
        return np.zeros(type.shape, type.numpy)
    if type.dtype in FOUR_BITS:
        raw = np.memmap(path, np.uint8, "r", offset, (stored_bytes(type),)).tobytes()
        return numpy_helper.to_array(TensorProto(data_type=tensor.data_type, dims=tensor.dims, raw_data=raw))
    return np.memmap(path, type.numpy, "r", offset, type.shape)


def external_place(tensor: TensorProto, folder: Path | None) -> tuple[Path, int]:
    """The file of external data, and the byte where they begin. ValueError if they are not all there."""
    type = tensor_type(tensor)
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = external_path(entries.get("location", ""), folder)
    offset, length = _number(entries, "offset", 0), _number(entries, "length", stored_bytes(type))
    if length != stored_bytes(type):
        raise ValueError(f"{length} bytes of external data, and its type {type} takes {stored_bytes(type)}")
    if offset + length > path.stat().st_size:
        raise ValueError(f"external data {path.name} ends before byte {offset + length}")
    return path, offset


def external_path(location: str, folder: Path | None) -> Path:
    """A file below the folder, through no link. ValueError for all others."""
    if folder is None:
        raise ValueError("external data, and the model comes from no file")
    root = folder.resolve()
    path = root / location
    parts = Path(location).parts
    if not location or Path(location).is_absolute() or ".." in parts or "\0" in location:
        raise ValueError(f"external data at {location!r}, which is no place below the model's folder")
    if path.resolve() != path or not path.is_file():
        raise ValueError(f"external data at {location!r}, which is no file below the model's folder")
    return path


def _number(entries: dict[str, str], key: str, default: int) -> int:
    text = entries.get(key, str(default))
    if not text.isdigit() or len(text) > 18:
        raise ValueError(f"external data with {key} {text!r}")
    return int(text)
