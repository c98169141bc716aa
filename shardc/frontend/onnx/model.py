"""Reading a model as untrusted input: sizes before bytes, external data only below the model's folder."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.dtypes import DTYPES, dtype_name
from shardc.frontend.onnx.schema import subgraphs
from shardc.frontend.onnx.values import Array
from shardc.graph.types import TensorType

MOST_BYTES = 2**31
"""Protocol buffers end here; more is kept as external data."""

MOST_ELEMENTS = 2**48

MOST_DEPTH = 16
"""Bodies of If, Loop and Scan within each other; function calls within each other."""

MOST_NODES = 1 << 17
"""Nodes that are lowered, those of functions once per call."""

OLDEST = 7
"""The oldest opset that is read."""


@dataclass(frozen=True)
class Model:
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
    if not proto.HasField("graph"):
        raise ShardcError(f"{file} is no ONNX model: it has no graph")
    return proto


def opsets_of(model: Model) -> dict[str, int]:
    """Domain -> version. ShardcError for versions that are not read."""
    from onnx import defs

    opsets = {("" if o.domain == "ai.onnx" else o.domain): int(o.version) for o in model.proto.opset_import}
    version, newest = opsets.get(""), defs.onnx_opset_version()
    if version is not None and not OLDEST <= version <= newest:
        raise ShardcError(f"{model.file} is of opset {version}; shardc reads {OLDEST} to {newest}")
    return opsets


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
        if len(tensor.raw_data) != type.nbytes:
            raise ValueError(f"{len(tensor.raw_data)} bytes, and its type {type} takes {type.nbytes}")
        return (
            np.frombuffer(tensor.raw_data, type.numpy.newbyteorder("<"))
            .astype(type.numpy)
            .reshape(type.shape)
        )
    field = helper.tensor_dtype_to_field(tensor.data_type)
    count = len(getattr(tensor, field)) // (2 if type.dtype in ("c64", "c128") else 1)
    if count != type.size:
        raise ValueError(f"{count} elements, and its type {type} takes {type.size}")
    return numpy_helper.to_array(tensor)


def external(tensor: TensorProto, folder: Path | None) -> Array:
    """A view of external data. ValueError if it lies outside the model's folder, or is too short."""
    type = tensor_type(tensor)
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = external_path(entries.get("location", ""), folder)
    offset, length = _number(entries, "offset", 0), _number(entries, "length", type.nbytes)
    if length != type.nbytes:
        raise ValueError(f"{length} bytes of external data, and its type {type} takes {type.nbytes}")
    if offset + length > path.stat().st_size:
        raise ValueError(f"external data {path.name} ends before byte {offset + length}")
    if not length:
        return np.zeros(type.shape, type.numpy)
    return np.memmap(path, type.numpy, "r", offset, type.shape)


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
