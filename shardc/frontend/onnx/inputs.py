"""Types of a model's inputs: dimensions that are symbols or unknown get the sizes that the user gives.

-D batch=8 is a size, or the value of an input of one element that is called so.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import GraphProto, ValueInfoProto

from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.dtypes import DTYPES, dtype_name
from shardc.frontend.onnx.model import Model
from shardc.frontend.onnx.values import Array
from shardc.graph.types import DTYPES as KINDS
from shardc.graph.types import TensorType


class Dimensions:
    """Sizes by name: a symbol's own, or INPUT.AXIS for a dimension without one."""

    def __init__(self, model: Model, sizes: Mapping[str, int]) -> None:
        self._file = model.file
        self._sizes = sizes
        self._open: list[str] = []
        self._used: set[str] = set()

    def input_type(self, info: ValueInfoProto) -> TensorType | str:
        """The type of an input, or what kind of thing it is if that is none that shardc has."""
        kind = info.type.WhichOneof("value")
        elem = info.type.tensor_type.elem_type
        if kind != "tensor_type":
            return str(kind).removesuffix("_type").replace("_", " ")
        return self._type(info) if elem in DTYPES else f"tensor of {dtype_name(elem)}"

    def _type(self, info: ValueInfoProto) -> TensorType:
        """Open dimensions are noted for `check`."""
        tensor = info.type.tensor_type
        if not tensor.HasField("shape"):
            raise ShardcError(f"{self._file}: input {info.name} has no shape, not even a rank")
        shape: list[int] = []
        for axis, dim in enumerate(tensor.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                shape.append(int(dim.dim_value))
                continue
            names = [name for name in (dim.dim_param, f"{info.name}.{axis}") if name]
            given = next((name for name in reversed(names) if name in self._sizes), None)
            self._used.update(names)
            if given is None:
                self._open.append(names[0])
            size = 1 if given is None else self._sizes[given]
            if size < 0:
                raise ShardcError(f"{self._file}: dimension {given} cannot have size {size}")
            shape.append(size)
        return TensorType(tuple(shape), DTYPES[tensor.elem_type])

    def declared(self, info: ValueInfoProto) -> TensorType | None:
        """The type that the model states for a value, if all its sizes are known."""
        tensor = info.type.tensor_type
        if info.type.WhichOneof("value") != "tensor_type" or not tensor.HasField("shape"):
            return None
        sizes = [self._size(dim) for dim in tensor.shape.dim]
        if tensor.elem_type not in DTYPES or None in sizes:
            return None
        return TensorType(tuple(size for size in sizes if size is not None), DTYPES[tensor.elem_type])

    def _size(self, dim: object) -> int | None:
        if dim.HasField("dim_value") and dim.dim_value >= 0:  # pyright: ignore
            return int(dim.dim_value)  # pyright: ignore
        return self._sizes.get(dim.dim_param) if dim.dim_param else None  # pyright: ignore

    def check(self) -> None:
        """ShardcError for dimensions without a size, and for sizes of no dimension."""
        if self._open:
            names = list(dict.fromkeys(self._open))
            raise ShardcError(
                f"{self._file}: the inputs have dimensions without a size: {', '.join(names)}",
                hint="give sizes: " + " ".join(f"-D {name}=…" for name in names),
            )
        unknown = [name for name in self._sizes if name not in self._used]
        if unknown:
            known = ", ".join(sorted(self._used)) or "none"
            raise ShardcError(f"{self._file} has no dimension {unknown[0]} to set; it has {known}")


def single(info: ValueInfoProto) -> bool:
    """Whether an input is one number or truth value."""
    tensor = info.type.tensor_type
    return (
        tensor.elem_type in DTYPES
        and tensor.HasField("shape")
        and all(dim.HasField("dim_value") and dim.dim_value == 1 for dim in tensor.shape.dim)
    )


def numbers_of(graph: GraphProto, sizes: Mapping[str, int], file: str) -> dict[str, Array]:
    """Input -> array, for the names among `sizes` that are inputs of one element and no dimension."""
    stored = {tensor.name for tensor in graph.initializer}
    inputs = [info for info in graph.input if info.name not in stored]
    symbols = {dim.dim_param for info in inputs for dim in info.type.tensor_type.shape.dim}
    found: dict[str, Array] = {}
    for info in inputs:
        if info.name not in sizes or info.name in symbols or not single(info):
            continue
        tensor, number = info.type.tensor_type, sizes[info.name]
        try:
            array = np.full((1,) * len(tensor.shape.dim), number, KINDS[DTYPES[tensor.elem_type]][1])
        except OverflowError:
            dtype = dtype_name(tensor.elem_type)
            raise ShardcError(f"{file}: input {info.name} is of {dtype}, which has no {number}") from None
        found[info.name] = array
    return found


def given_array(info: ValueInfoProto, array: Array) -> Array:
    """The value of an input that is given while compiling. ShardcError if its dtype is another."""
    elem = info.type.tensor_type.elem_type
    if elem not in DTYPES:
        raise ShardcError(f"input {info.name} is of {dtype_name(elem)}")
    type = TensorType(tuple(array.shape), DTYPES[elem])
    if array.dtype != type.numpy:
        raise ShardcError(f"input {info.name} is of {type.dtype}, and its value of {array.dtype}")
    return array
