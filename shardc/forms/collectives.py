"""The sdy collectives as per-device code.

Blocks have the ceiling size: before a dimension is split it is padded with zeros, after it is gathered whole
the padding is dropped. What a block's padding holds in between is undefined; whoever combines elements of a
block with each other masks it. Elementwise work, partial sums included, may leave anything there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.forms.site import INDEX, local_type, offset, scalar
from shardc.graph import TensorType, identity
from shardc.graph.builder import Builder
from shardc.layout import Axis, Sharding, size_of
from shardc.layout.difference import Axes, Place, displaced, gained, lost, pieces, split
from shardc.ops import hlo, sdy, spmd


class LayoutChange(Struct, frozen=True):
    """A collective to be built: the tensor's global type, its sharding before and after, sdy attributes."""

    builder: Builder[Any]
    type: TensorType
    before: Sharding
    after: Sharding
    attrs: Mapping[str, object]

    @property
    def block(self) -> tuple[int, ...]:
        """The local shape afterwards."""
        return self.after.local_shape(self.type.shape)

    def per_dim(self, name: str) -> list[tuple[int, Axes]]:
        """(dimension, axes) for those with any, from an attribute that lists axes per dimension."""
        lists = cast(Sequence[Axes], self.attrs[name])
        return [(dim, axes) for dim, axes in enumerate(lists) if axes]

    def resize(self, value: Any, dim: int, size: int) -> Any:
        """`value` with zeros added at the end of a dimension, or with the end cut off, to make it `size`."""
        shape = self.builder.type_of(value).shape
        if shape[dim] > size:
            limits = (*shape[:dim], size, *shape[dim + 1 :])
            return self.builder.one(
                hlo.slice_.name,
                value,
                start_indices=(0,) * len(shape),
                limit_indices=limits,
                strides=(1,) * len(shape),
            )
        if shape[dim] < size:
            high = tuple(size - shape[dim] if d == dim else 0 for d in range(len(shape)))
            zero = scalar(self.builder, 0, TensorType((), self.type.dtype))
            none = (0,) * len(shape)
            return self.builder.one(
                hlo.pad.name,
                value,
                zero,
                edge_padding_low=none,
                edge_padding_high=high,
                interior_padding=none,
            )
        return value

    def reshape(self, value: Any, shape: Sequence[int]) -> Any:
        result = self.builder.type_of(value).with_shape(tuple(shape))
        return self.builder.one(hlo.reshape.name, value, result=result)


def lower(
    builder: Builder[Any],
    value: Any,
    type: TensorType,
    source: Sharding,
    name: str,
    attrs: Mapping[str, object],
    target: Sharding,
) -> Any:
    """The block after the sdy collective `name`, which takes a tensor of global `type` from source to target.

    `attrs` are the operation's; `value` is the block before. A tensor without elements is not sent anywhere.
    """
    if 0 in type.shape:
        return scalar(builder, 0, local_type(type, target))
    return LOWERINGS[name](LayoutChange(builder, type, source, target, attrs), value)


def _all_gather(change: LayoutChange, value: Any) -> Any:
    for dim, axes in change.per_dim("gathering_axes"):
        value = change.builder.one(spmd.all_gather.name, value, axes=axes, dim=dim, invariant=True)
        value = change.resize(value, dim, change.block[dim])
    return value


def _all_slice(change: LayoutChange, value: Any) -> Any:
    for dim, axes in change.per_dim("slicing_axes"):
        value = change.resize(value, dim, change.block[dim] * size_of(axes))
        value = change.builder.one(spmd.all_slice.name, value, axes=axes, dim=dim)
    return value


def _all_reduce(change: LayoutChange, value: Any) -> Any:
    return change.builder.one(
        spmd.all_reduce.name, value, axes=change.attrs["reduction_axes"], kind=change.before.kind
    )


def _reduce_scatter(change: LayoutChange, value: Any) -> Any:
    for dim, axes in change.per_dim("reduce_scatter_axes"):
        value = change.resize(value, dim, change.block[dim] * size_of(axes))
        value = change.builder.one(
            spmd.reduce_scatter.name, value, axes=axes, dim=dim, kind=change.before.kind
        )
    return value


def _collective_permute(change: LayoutChange, value: Any) -> Any:
    axes, pairs = permutation(change.before, change.after)
    return change.builder.one(spmd.collective_permute.name, value, axes=axes, pairs=pairs)


@lru_cache(maxsize=32)
def permutation(before: Sharding, after: Sharding) -> tuple[Axes, tuple[tuple[int, int], ...]]:
    """The axes over which blocks change place, and (from, to) positions over them, row-major."""
    moving = displaced(before, after)
    parts = [dim.parts for dim in before.dims]  # and of `after`
    given, wanted = (_blocks({axis: places[end] for axis, places in moving.items()}, parts) for end in (0, 1))
    order = np.argsort(wanted)
    holders: list[int] = order[np.searchsorted(wanted, given, sorter=order)].tolist()
    return (*moving,), tuple(enumerate(holders))


def _blocks(places: Mapping[Axis, Place], parts: Sequence[int]) -> NDArray[np.int64]:
    """At each position over some axes, row-major: which block is held there, of so many per dimension."""
    numbers = np.zeros(1, np.int64)
    for axis, (dim, stride) in places.items():
        along = np.arange(axis.size) * stride * prod(parts[dim + 1 :])
        numbers = np.add.outer(numbers, along).ravel()
    return numbers


def _replicated_to_unreduced(change: LayoutChange, value: Any) -> Any:
    return change.builder.one(spmd.to_partial.name, value, axes=change.attrs["axes"], kind=change.after.kind)


def _sharded_to_unreduced(change: LayoutChange, value: Any) -> Any:
    """Each device's block at its place in what would have been gathered."""
    builder, fill = change.builder, identity(change.after.kind, change.type.dtype)
    for dim, axes in enumerate(lost(change.before, change.after)):
        if size_of(axes) > 1:
            type = builder.type_of(value)
            block = type.shape[dim]
            shape = (*type.shape[:dim], block * size_of(axes), *type.shape[dim + 1 :])
            starts = [scalar(builder, 0, INDEX) for _ in shape]
            starts[dim] = offset(builder, axes, block)
            empty = scalar(builder, fill, type.with_shape(shape))
            value = builder.one(hlo.dynamic_update_slice.name, empty, value, *starts)
            value = change.resize(value, dim, change.block[dim])
    return value


def _all_to_all(change: LayoutChange, value: Any) -> Any:
    """One exchange over all the axes that move, whichever dimensions they come from and go to.

    Chunks are cut and put together along one dimension where a single one is involved, and along a new
    leading dimension otherwise.
    """
    builder = change.builder
    atoms = pieces(change.before.mesh, (*change.before.axes(), *change.after.axes()))
    gone = [split(axes, atoms) for axes in lost(change.before, change.after)]
    come = [split(axes, atoms) for axes in gained(change.before, change.after)]
    for dim, axes in enumerate(come):
        if axes:
            value = change.resize(value, dim, change.block[dim] * size_of(axes))
    receivers, senders = _used(come), _used(gone)
    order = come[receivers[0]] if len(receivers) == 1 else tuple(axis for axes in gone for axis in axes)
    cut_in_front = order != come[receivers[0]]
    join_in_front = order != gone[senders[0]]
    if cut_in_front:
        value = _cut(change, value, come, order)
    elif join_in_front:
        value = change.reshape(value, (1, *builder.type_of(value).shape))
    lead = cut_in_front or join_in_front
    value = builder.one(
        spmd.all_to_all.name,
        value,
        axes=order,
        split_dim=0 if cut_in_front else receivers[0] + lead,
        concat_dim=0 if join_in_front else senders[0] + lead,
    )
    if join_in_front:
        value = _join(change, value, gone, order)
    elif cut_in_front:
        value = change.reshape(value, builder.type_of(value).shape[1:])
    for dim in senders:
        value = change.resize(value, dim, change.block[dim])
    return value


def _used(lists: Sequence[Axes]) -> list[int]:
    return [dim for dim, axes in enumerate(lists) if axes]


def _cut(change: LayoutChange, value: Any, come: Sequence[Axes], order: Axes) -> Any:
    """The chunks for all positions over `order` along a new leading dimension."""
    shape: list[int] = []
    place: dict[Axis, int] = {}
    rest: list[int] = []
    for size, axes in zip(change.builder.type_of(value).shape, come, strict=True):
        for axis in axes:
            place[axis] = len(shape)
            shape.append(axis.size)
        rest.append(len(shape))
        shape.append(size // size_of(axes))
    value = change.reshape(value, shape)
    permutation = (*(place[axis] for axis in order), *rest)
    value = change.builder.one(hlo.transpose.name, value, permutation=permutation)
    return change.reshape(value, (size_of(order), *(shape[i] for i in rest)))


def _join(change: LayoutChange, value: Any, gone: Sequence[Axes], order: Axes) -> Any:
    """The chunks from all positions over `order`, along the leading dimension, put in their places."""
    _, *block = change.builder.type_of(value).shape
    value = change.reshape(value, (*(axis.size for axis in order), *block))
    permutation: list[int] = []
    for dim, axes in enumerate(gone):
        permutation += [order.index(axis) for axis in axes]
        permutation.append(len(order) + dim)
    value = change.builder.one(hlo.transpose.name, value, permutation=tuple(permutation))
    whole = [size * prod(axis.size for axis in axes) for size, axes in zip(block, gone, strict=True)]
    return change.reshape(value, whole)


LOWERINGS: dict[str, Callable[[LayoutChange, Any], Any]] = {
    sdy.all_gather.name: _all_gather,
    sdy.all_reduce.name: _all_reduce,
    sdy.all_slice.name: _all_slice,
    sdy.all_to_all.name: _all_to_all,
    sdy.collective_permute.name: _collective_permute,
    sdy.reduce_scatter.name: _reduce_scatter,
    sdy.replicated_to_unreduced.name: _replicated_to_unreduced,
    sdy.sharded_to_unreduced.name: _sharded_to_unreduced,
}
