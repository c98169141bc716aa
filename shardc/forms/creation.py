"""Local forms of operations that make tensors from nothing: constants and iota."""

from __future__ import annotations

from typing import Any, cast

from shardc.forms.registry import plain_form
from shardc.forms.site import Site, offset, scalar, spread
from shardc.graph import Dense, TensorType, identity
from shardc.graph.builder import Builder
from shardc.layout import Sharding
from shardc.ops import hlo, sdy, spmd


@plain_form(hlo.constant, sdy.constant)
def constant(site: Site) -> list[Any]:
    """A splat of the block's shape, or the device's block cut from the whole table."""
    b, sharding = site.builder, site.result_shardings[0]
    value = cast(Dense, site.op.attrs["value"])
    (local,) = site.local_results
    if value.is_splat:
        made = b.one(hlo.constant.name, result=local, value=Dense(value.data, local.shape))
        neutral = value.data[()] == identity(sharding.kind, local.dtype)
        return [made if neutral else partial(b, made, sharding)]
    table = b.one(hlo.constant.name, result=site.op.results[0], value=value)
    return [partial(b, blocks(b, table, sharding), sharding)]


@plain_form(hlo.iota)
def iota(site: Site) -> list[Any]:
    """Local positions; if the counted dimension is split, plus where the block starts, before others are
    added to it."""
    b = site.builder
    sharding, (local,) = site.result_shardings[0], site.local_results
    dim = cast(int, site.op.attrs["iota_dimension"])
    axes = sharding.dims[dim].axes
    if not axes:
        return [partial(b, b.one(hlo.iota.name, result=local, iota_dimension=dim), sharding)]
    line = TensorType((local.shape[dim],), local.dtype)
    count = b.one(hlo.iota.name, result=line, iota_dimension=0)
    start = offset(b, axes, local.shape[dim])
    if local.dtype != "i32":
        start = b.one(hlo.convert.name, start, result=TensorType((), local.dtype))
    count = b.one(hlo.add.name, count, spread(b, start, line.shape))
    return [partial(b, spread(b, count, local.shape, (dim,)), sharding)]


def blocks(b: Builder[Any], whole: Any, sharding: Sharding) -> Any:
    """The device's block of a tensor that every device holds; uneven dimensions are padded with zeros."""
    type = b.type_of(whole)
    padding = tuple(
        block * dim.parts - size
        for block, dim, size in zip(sharding.local_shape(type.shape), sharding.dims, type.shape, strict=True)
    )
    if any(padding):
        zeros = (0,) * type.rank
        whole = b.one(
            hlo.pad.name,
            whole,
            scalar(b, 0, TensorType((), type.dtype)),
            edge_padding_low=zeros,
            edge_padding_high=padding,
            interior_padding=zeros,
        )
    for index, dim in enumerate(sharding.dims):
        if dim.axes:
            whole = b.one(spmd.all_slice.name, whole, axes=dim.axes, dim=index)
    return whole


def partial(b: Builder[Any], value: Any, sharding: Sharding) -> Any:
    """A value every device holds, as a partial result over the sharding's unreduced axes."""
    if not sharding.unreduced:
        return value
    return b.one(spmd.to_partial.name, value, axes=sharding.unreduced, kind=sharding.kind)
