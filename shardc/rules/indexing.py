"""Rules of operations whose operands say where to read or write: gather, scatter, dynamic slices.

sdy calls a dimension that is indexed a reduction (gather) or pass-through (scatter, dynamic_update_slice),
since devices can mask out what they don't hold. The plain operation doesn't, so those factors are not plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, partial_kind
from shardc.rules.rule import FactorRule, Kind


def gather(op: Op) -> FactorRule:
    """Factors: the result's dimensions in order, then the collapsed ones, then the index vector's."""
    dims = cast(GatherDims, op.attrs["dimension_numbers"])
    operand, indices = op.operands
    batch = _batch_dims(indices.rank, dims.index_vector_dim)
    skipped = dims.collapsed_slice_dims + dims.operand_batching_dims
    windows = (d for d in range(operand.rank) if d not in skipped)
    explicit = dict(zip(dims.start_indices_batching_dims, dims.operand_batching_dims, strict=True))
    builder = RuleBuilder(op)
    for out, size in enumerate(op.results[0].shape):
        if out in dims.offset_dims:
            _gather_window(builder, next(windows), out, op)
            continue
        dim = next(batch)
        along = {0: explicit[dim], 1: dim} if dim in explicit else {1: dim}
        builder.factor(size, along, {0: out})
    for dim in dims.collapsed_slice_dims:
        size = operand.shape[dim]
        kind = Kind.REPLICATE if size == 1 else Kind.REDUCTION
        builder.factor(size, {0: dim}, kind=kind, plain=False)
    _index_vector(builder, op, 1, dims.index_vector_dim)
    return builder.build(reduction=partial_kind("sum", operand.dtype), linear=[[0]], monotone=[[0]])


def _gather_window(builder: RuleBuilder, dim: int, out: int, op: Op) -> None:
    size, taken = op.operands[0].shape[dim], op.results[0].shape[out]
    if size == taken:
        builder.factor(size, {0: dim}, {0: out})
    elif taken == 1:
        builder.factor(size, {0: dim}, kind=Kind.REDUCTION, plain=False)
        builder.factor(1, results={0: out}, kind=Kind.REPLICATE)
    else:
        builder.factor(size, {0: dim}, {0: out}, Kind.REPLICATE, blocked=True)


def scatter(op: Op) -> FactorRule:
    """Operands: n inputs, indices, n updates. Factors: updates' dimensions, inserted ones, index vector.

    Different updates of one sum (max, …) make partial results of it, and what they are added to counts once.
    Updates that overwrite are linear if no two go to the same place.
    """
    dims = cast(ScatterDims, op.attrs["scatter_dimension_numbers"])
    count = len(op.results)
    operand, indices, update = op.operands[0], op.operands[count], op.operands[-1]
    batch = _batch_dims(indices.rank, dims.index_vector_dim)
    skipped = dims.inserted_window_dims + dims.input_batching_dims
    windows = (d for d in range(operand.rank) if d not in skipped)
    explicit = dict(zip(dims.scatter_indices_batching_dims, dims.input_batching_dims, strict=True))
    combines = op.combiner in ("sum", "prod", "max", "min")
    builder = RuleBuilder(op)
    for dim, size in enumerate(update.shape):
        updates = {count + 1 + i: dim for i in range(count)}
        if dim in dims.update_window_dims:
            _scatter_window(builder, next(windows), operand.shape, updates, size, count)
            continue
        index = next(batch)
        if index in explicit:
            inputs = dict.fromkeys(range(count), explicit[index])
            builder.factor(size, {**inputs, count: index, **updates}, inputs)
        else:
            kind = Kind.REDUCTION if combines else Kind.REPLICATE
            builder.factor(size, {count: index, **updates}, kind=kind)
    for dim in dims.inserted_window_dims:
        inputs = dict.fromkeys(range(count), dim)
        builder.factor(operand.shape[dim], inputs, inputs, plain=False)
    _index_vector(builder, op, count, dims.index_vector_dim)
    kind = partial_kind(op.combiner, operand.dtype)
    values = [i for i in range(len(op.operands)) if i != count]
    moves = op.combiner == "set" and op.attrs.get("unique_indices") is True
    return builder.build(
        reduction=kind,
        linear=[values] if kind == "sum" or moves else [],
        monotone=[values] if moves else [],
        max_only=[values] if kind == "max" else [],
        min_only=[values] if kind == "min" else [],
        once=range(count) if kind == "sum" else (),
    )


def _scatter_window(
    builder: RuleBuilder, dim: int, shape: tuple[int, ...], updates: dict[int, int], size: int, count: int
) -> None:
    inputs = dict.fromkeys(range(count), dim)
    if shape[dim] == size:
        builder.factor(size, {**inputs, **updates}, inputs)
    else:
        builder.factor(shape[dim], inputs, inputs, Kind.REPLICATE)
        builder.factor(size, updates, kind=Kind.REPLICATE)


def dynamic_slice(op: Op) -> FactorRule:
    """Dimensions that are sliced must be whole."""
    builder = RuleBuilder(op)
    for dim, (size, taken) in enumerate(zip(op.operands[0].shape, op.results[0].shape, strict=True)):
        whole = size == taken
        builder.along(dim, size, Kind.PASS if whole else Kind.REPLICATE, blocked=not whole)
    return builder.build(linear=[[0]], monotone=[[0]])


def dynamic_update_slice(op: Op) -> FactorRule:
    """The update must be whole where it is smaller (in sdy not if the indices are constant)."""
    builder = RuleBuilder(op)
    for dim, (size, part) in enumerate(zip(op.operands[0].shape, op.operands[1].shape, strict=True)):
        if size == part:
            builder.factor(size, {0: dim, 1: dim}, {0: dim})
        else:
            builder.factor(size, {0: dim}, {0: dim}, plain=False)
            builder.factor(part, {1: dim}, kind=Kind.REPLICATE)
    return builder.build(linear=[[0, 1]], monotone=[[0, 1]])


def _batch_dims(rank: int, index_vector_dim: int) -> Iterator[int]:
    """The dimensions of the indices that are not the index vector's."""
    return (dim for dim in range(rank) if dim != index_vector_dim)


def _index_vector(builder: RuleBuilder, op: Op, operand: int, dim: int) -> None:
    """The dimension that holds the coordinates of one index; there is none if `dim` is the rank."""
    indices = op.operands[operand]
    if dim < indices.rank:
        builder.factor(indices.shape[dim], {operand: dim}, kind=Kind.REPLICATE)


RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather,
    "stablehlo.scatter": scatter,
}
