"""What a local form works on, and the few per-device pieces that several forms share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.graph import Dense, Op, TensorType, is_float
from shardc.graph.builder import Body, Builder
from shardc.graph.types import SHORT
from shardc.layout import Axis, Sharding
from shardc.ops import hlo, spmd

INDEX = TensorType((), "i32")


class Site(Struct, frozen=True):
    """One global operation about to become per-device code.

    `operands` are the local values; operand i is laid out as `operand_shardings[i]`, and result i must come
    out as `result_shardings[i]`. `regions` replays the operation's own regions. `combines`: how the first
    region combines each value with its update, where it does so for each by itself. `zeros`: which operands
    are known to be zeros, with no sign; `counts`: which are integers from 0 on.
    """

    builder: Builder[Any]
    op: Op
    operand_shardings: tuple[Sharding, ...]
    result_shardings: tuple[Sharding, ...]
    operands: tuple[Any, ...]
    regions: tuple[Body, ...] = ()
    combines: tuple[str | None, ...] = ()
    zeros: tuple[bool, ...] = ()
    counts: tuple[bool, ...] = ()

    @property
    def local_results(self) -> tuple[TensorType, ...]:
        """The types of the results' blocks."""
        return tuple(map(local_type, self.op.results, self.result_shardings))

    def operand_type(self, index: int) -> TensorType:
        """The type of an operand's block."""
        return self.builder.type_of(self.operands[index])

    def fill(self, index: int) -> Any | None:
        """An operand that fills places; None for zeros, which a permute leaves where it sends nothing."""
        return None if index < len(self.zeros) and self.zeros[index] else self.operands[index]

    def plain(self, operands: Sequence[Any] | None = None, **attrs: object) -> list[Any]:
        """The operation itself on blocks: given operands if any, its own attributes but for `attrs`."""
        return self.builder.op(
            self.op.name,
            *(self.operands if operands is None else operands),
            results=self.local_results,
            regions=self.regions,
            **{**self.op.attrs, **attrs},
        )


@lru_cache(maxsize=1 << 14)
def local_type(type: TensorType, sharding: Sharding) -> TensorType:
    """The type of a device's block."""
    return type.with_shape(sharding.local_shape(type.shape))


def scalar(builder: Builder[Any], value: object, type: TensorType) -> Any:
    """A constant of one repeated element; `type` may have any shape."""
    data = np.asarray(value).astype(type.numpy)
    return builder.one(hlo.constant.name, result=type, value=Dense(data, type.shape))


def wide(builder: Builder[Any], indices: Any) -> Any:
    """`indices` in at least 32 bits: fewer may not count all rows, nor below the start of a block."""
    type = builder.type_of(indices)
    if type.dtype not in SHORT:
        return indices
    return builder.one(hlo.convert.name, indices, result=type.with_dtype(INDEX.dtype))


def offset(builder: Builder[Any], axes: Sequence[Axis], block: int) -> Any:
    """Where this device's block of `block` elements starts in a dimension split over `axes`: i32[]."""
    index = builder.one(spmd.axis_index.name, axes=tuple(axes))
    return builder.one(hlo.multiply.name, index, scalar(builder, block, INDEX))


def spread(builder: Builder[Any], value: Any, shape: tuple[int, ...], dims: tuple[int, ...] = ()) -> Any:
    """broadcast_in_dim to `shape`; nothing where the value has it already."""
    type = builder.type_of(value)
    if type.shape == shape:
        return value
    return builder.one(
        hlo.broadcast_in_dim.name, value, result=type.with_shape(shape), broadcast_dimensions=dims
    )


def positions(builder: Builder[Any], dim_size: int, axes: Sequence[Axis]) -> Any:
    """The global positions of this device's block in a dimension of `dim_size` blocks: i32[block]."""
    type = TensorType((dim_size,), "i32")
    local = builder.one(hlo.iota.name, result=type, iota_dimension=0)
    start = spread(builder, offset(builder, axes, dim_size), type.shape)
    return builder.one(hlo.add.name, local, start)


def compare(builder: Builder[Any], left: Any, direction: str, right: Any) -> Any:
    """left LT right and so on, elementwise, with the comparison its dtype wants."""
    dtype = builder.type_of(left).dtype
    kind = "FLOAT" if is_float(dtype) else "UNSIGNED" if dtype[0] in "ub" else "SIGNED"
    return builder.one(hlo.compare.name, left, right, comparison_direction=direction, compare_type=kind)


def mask(builder: Builder[Any], value: Any, dim: int, axes: Sequence[Axis], size: int, fill: Any) -> Any:
    """`value` with the scalar `fill` in the padding of dimension `dim`, whose true global size is `size`."""
    type = builder.type_of(value)
    block = type.shape[dim]
    limit = scalar(builder, size, TensorType((block,), "i32"))
    inside = compare(builder, positions(builder, block, axes), "LT", limit)
    return builder.one(
        hlo.select.name,
        spread(builder, inside, type.shape, (dim,)),
        value,
        spread(builder, fill, type.shape),
    )
