"""Local forms of reductions that no all-reduce can finish: candidates or block totals are exchanged.

top_k and reductions with a body of their own gather one candidate per device and run again on those; ties go
to the smaller global position, because candidates are gathered in the order of the blocks. argmax first finds
the maximum of all. Cumulative operations add what the blocks before hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from shardc.forms.factors import FactorSet, extremes, last, products, reduced
from shardc.forms.registry import After, form
from shardc.forms.site import Site, compare, mask, offset, scalar, spread
from shardc.graph import Op, ScatterDims, TensorType, identity, is_float
from shardc.graph.builder import Builder
from shardc.layout import Axis
from shardc.ops import chlo, hlo, spmd
from shardc.ops.rule import FactorRule
from shardc.ops.windows.geometry import cumulative_dims

COMBINE = {
    "sum": hlo.add.name,
    "prod": hlo.multiply.name,
    "max": hlo.maximum.name,
    "min": hlo.minimum.name,
}


def running_factors(op: Op, rule: FactorRule) -> FactorSet:
    """The dimensions along which a window sums up all that is before."""
    moving = cumulative_dims(op) if op.combiner in COMBINE else ()
    return frozenset(f for dim in moving for f in rule.operands[0][dim])


@form(hlo.reduce, "extreme", extremes, After.WHOLE)
def arg_extreme(site: Site) -> list[Any]:
    """argmax(x, i) -> m = all-reduce of the blocks' maxima, and the smallest i of those that have m.

    A NaN wins over all, and of several the first. A maximum over devices may lose it, so where every i is 0
    or more, those of NaN are negative until the smallest is found.
    """
    b, kind = site.builder, {"argmax": "max", "argmin": "min"}[str(site.op.combiner)]
    value, index, *inits = site.operands
    dims = cast(tuple[int, ...], site.op.attrs["dimensions"])
    axes = tuple(axis for dim in dims for axis in site.operand_shardings[0].dims[dim].axes)
    value, index = _masked(site, 0, dims, inits[0]), _masked(site, 1, dims, inits[1])
    value, index = site.plain([value, index, *inits])
    type = b.type_of(index)
    best = b.one(spmd.all_reduce.name, value, axes=axes, kind=kind)
    most = scalar(b, identity("min", type.dtype), type)
    chosen = b.one(hlo.select.name, compare(b, value, "EQ", best), index, most)
    if not is_float(b.type_of(value).dtype):
        return [best, b.one(spmd.all_reduce.name, chosen, axes=axes, kind="min")]
    counts = type.dtype.startswith("i") and site.counts[1:2] == (True,) and site.zeros[3:] == (True,)
    first = b.one(hlo.or_.name, index, scalar(b, identity("max", type.dtype), type)) if counts else index
    chosen = b.one(hlo.select.name, compare(b, value, "NE", value), first, chosen)
    found = b.one(spmd.all_reduce.name, chosen, axes=axes, kind="min")
    return [best, b.one(hlo.and_.name, found, most) if counts else found]


@form(hlo.reduce, "candidates", reduced, After.WHOLE)
def reduce_candidates(site: Site) -> list[Any]:
    """reduce(x over a split dimension) -> reduce(all_gather(reduce(block))), with the operation's own body.

    The init of a body we don't know is its identity (StableHLO asks for that), so it may be used twice; the
    inits of known combinations, one for each value, are used in the second step only.
    """
    b, dims = site.builder, cast(tuple[int, ...], site.op.attrs["dimensions"])
    count = len(site.op.results)
    inits = list(site.operands[count:])
    first = inits
    kinds = [kind for kind in site.combines if kind in COMBINE]
    if len(kinds) == count:
        types = site.op.operands[count:]
        first = [scalar(b, identity(kind, type.dtype), type) for kind, type in zip(kinds, types, strict=True)]
    inputs = [_masked(site, index, dims, first[index]) for index in range(count)]
    shapes = [_without(b.type_of(value), dims) for value in inputs]
    partial = b.op(hlo.reduce.name, *inputs, *first, results=shapes, regions=site.regions, dimensions=dims)
    axes = tuple(axis for dim in dims for axis in site.operand_shardings[0].dims[dim].axes)
    return _reduced_again(site, partial, inits, axes)


@form(hlo.scatter, "candidates", products, After.WHOLE)
def scatter_candidates(site: Site) -> list[Any]:
    """scatter(table, ids, updates) by products -> table * reduce(all_gather(scatter(1, ids, block)))."""
    b, count, kind = site.builder, len(site.op.results), cast(str, site.op.combiner)
    updates = range(count + 1, 2 * count + 1)
    windows = cast(ScatterDims, site.op.attrs["scatter_dimension_numbers"]).update_window_dims
    dims = [dim for dim in range(site.op.operands[-1].rank) if dim not in windows]
    axes = tuple(axis for dim in dims for axis in site.operand_shardings[-1].dims[dim].axes)
    ones = [scalar(b, identity(kind, type.dtype), type) for type in site.local_results]
    inits = [scalar(b, identity(kind, type.dtype), type.with_shape(())) for type in site.local_results]
    given = [_masked(site, index, dims, init) for index, init in zip(updates, inits, strict=True)]
    own = site.plain([*ones, site.operands[count], *given])
    multiplied = _reduced_again(site, own, inits, axes)
    tables = site.operands[:count]
    return [b.one(COMBINE[kind], table, each) for table, each in zip(tables, multiplied, strict=True)]


@form(chlo.top_k, "candidates", last, After.WHOLE)
def top_k(site: Site) -> list[Any]:
    """top_k(x) -> the first k of sort(all_gather(top_k(block))), with global positions."""
    b, k = site.builder, cast(int, site.op.attrs["k"])
    (x,), (type,), (sharding,) = site.operands, site.op.operands, site.operand_shardings
    dim, axes = type.rank - 1, sharding.dims[-1].axes
    if sharding.uneven(type.shape):
        fill = scalar(b, identity("max", type.dtype), type.with_shape(()))
        x = mask(b, x, dim, axes, type.shape[dim], fill)
    block = b.type_of(x).shape
    kept = (*block[:-1], min(k, block[-1]))
    values, indices = b.op(
        chlo.top_k.name, x, results=(type.with_shape(kept), TensorType(kept, "i32")), k=kept[-1]
    )
    indices = b.one(hlo.add.name, indices, spread(b, offset(b, axes, block[-1]), kept))
    gathered = [b.one(spmd.all_gather.name, v, axes=axes, dim=dim, invariant=True) for v in (values, indices)]
    total = b.type_of(gathered[0])
    scalars = [TensorType((), type.dtype)] * 2 + [TensorType((), "i32")] * 2
    ordered = b.op(
        hlo.sort.name,
        *gathered,
        results=(total, total.with_dtype("i32")),
        regions=[(scalars, _descending)],
        dimension=dim,
        is_stable=True,
    )
    return [_first(b, value, dim, k) for value in ordered]


@form(hlo.reduce_window, "block_totals", running_factors)
def cumulative(site: Site) -> list[Any]:
    """cumsum(x) -> cumsum(block) + the sum of the blocks before (or after, where it runs backwards)."""
    b, op = site.builder, site.op
    (dim,) = cumulative_dims(op)
    kind = cast(str, op.combiner)
    x, init = site.operands
    axes = site.operand_shardings[0].dims[dim].axes
    type = op.operands[0]
    neutral = scalar(b, identity(kind, type.dtype), type.with_shape(()))
    if type.shape[dim] % site.operand_shardings[0].dims[dim].parts:
        x = mask(b, x, dim, axes, type.shape[dim], neutral)
    block = b.type_of(x).shape[dim]
    padding = cast(tuple[tuple[int, int], ...], op.attrs["padding"])
    backwards = padding[dim][1] > 0
    padding = tuple(
        ((0, block - 1) if backwards else (block - 1, 0)) if d == dim else p for d, p in enumerate(padding)
    )
    window = tuple(block if d == dim else 1 for d in range(type.rank))
    (local,) = site.plain([x, init], window_dimensions=window, padding=padding)
    totals = b.one(
        spmd.all_gather.name,
        _edge(b, local, dim, 0 if backwards else block - 1),
        axes=axes,
        dim=dim,
        invariant=True,
    )
    others = b.type_of(totals)
    index = spread(b, b.one(spmd.axis_index.name, axes=axes), (others.shape[dim],))
    order = b.one(hlo.iota.name, result=TensorType((others.shape[dim],), "i32"), iota_dimension=0)
    counts = compare(b, order, "GT" if backwards else "LT", index)
    kept = b.one(
        hlo.select.name, spread(b, counts, others.shape, (dim,)), totals, spread(b, neutral, others.shape)
    )
    rest = _without(others, (dim,))
    (before,) = b.op(hlo.reduce.name, kept, neutral, results=(rest,), regions=site.regions, dimensions=(dim,))
    shape = b.type_of(local).shape
    before = spread(b, before, shape, tuple(d for d in range(len(shape)) if d != dim))
    return [b.one(COMBINE[kind], local, before)]


def _masked(site: Site, index: int, dims: Sequence[int], fill: Any) -> Any:
    type, sharding, value = site.op.operands[index], site.operand_shardings[index], site.operands[index]
    for dim in sharding.uneven(type.shape):
        if dim in dims:
            value = mask(site.builder, value, dim, sharding.dims[dim].axes, type.shape[dim], fill)
    return value


def _without(type: TensorType, dims: Sequence[int]) -> TensorType:
    return type.with_shape(tuple(n for d, n in enumerate(type.shape) if d not in dims))


def _reduced_again(
    site: Site, values: Sequence[Any], inits: Sequence[Any], axes: tuple[Axis, ...]
) -> list[Any]:
    """What all devices have, as the operation's own body reduces it."""
    b, types = site.builder, [site.builder.type_of(value) for value in values]
    stacked = [_gather_new_dim(b, value, axes) for value in values]
    return b.op(hlo.reduce.name, *stacked, *inits, results=types, regions=site.regions, dimensions=(0,))


def _gather_new_dim(b: Builder[Any], value: Any, axes: tuple[Axis, ...]) -> Any:
    type = b.type_of(value)
    row = b.one(hlo.reshape.name, value, result=type.with_shape((1, *type.shape)))
    return b.one(spmd.all_gather.name, row, axes=axes, dim=0, invariant=True)


def _first(b: Builder[Any], value: Any, dim: int, count: int) -> Any:
    shape = b.type_of(value).shape
    limit = tuple(count if d == dim else n for d, n in enumerate(shape))
    zeros, ones = (0,) * len(shape), (1,) * len(shape)
    return b.one(hlo.slice_.name, value, start_indices=zeros, limit_indices=limit, strides=ones)


def _edge(b: Builder[Any], value: Any, dim: int, index: int) -> Any:
    shape = b.type_of(value).shape
    start = tuple(index if d == dim else 0 for d in range(len(shape)))
    limit = tuple(index + 1 if d == dim else n for d, n in enumerate(shape))
    return b.one(hlo.slice_.name, value, start_indices=start, limit_indices=limit, strides=(1,) * len(shape))


def _descending(b: Builder[Any], left: Any, right: Any, *_: Any) -> list[Any]:
    return [compare(b, left, "GT", right)]
