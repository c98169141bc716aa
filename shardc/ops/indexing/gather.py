"""One slice of the operand for every index vector."""

from __future__ import annotations

from typing import cast

from shardc.graph import GatherDims, Op
from shardc.ops.definition import Moved, OpDef, Spelling, Syntax, Work, of
from shardc.ops.indexing.indices import (
    PLACES,
    ROWS,
    batch_dims,
    batch_shape,
    check_batching,
    index_vector,
)
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, partial_kind
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import ops as kernels


def _types(op: UntypedOp) -> Types:
    """The batch dimensions of the indices, with the window's at offset_dims between them."""
    operand, indices = op.arity(2)
    dims = op.get("dimension_numbers", GatherDims)
    sizes = op.integers("slice_sizes")
    op.check_length("slice_sizes", sizes, operand.rank)
    for dim, size in enumerate(sizes):
        if not 0 <= size <= operand.shape[dim]:
            raise op.error(f"cannot take slices of {size} of dimension {dim} of {operand}")
    dropped = dims.collapsed_slice_dims + dims.operand_batching_dims
    op.check_dims("collapsed or batching dimension", dropped, operand.rank)
    indexed = dims.start_index_map + dims.operand_batching_dims
    op.check_dims("start_index_map or batching dimension", indexed, operand.rank)
    for dim in dropped:
        if sizes[dim] > 1:
            raise op.error(f"drops dimension {dim} of {operand}, but takes slices of {sizes[dim]} of it")
    check_batching(op, operand, indices, dims.operand_batching_dims, dims.start_indices_batching_dims)
    batch = list(batch_shape(op, indices, dims.index_vector_dim, len(dims.start_index_map)))
    offsets = [size for dim, size in enumerate(sizes) if dim not in dropped]
    if len(offsets) != len(dims.offset_dims):
        raise op.error(f"has {len(dims.offset_dims)} offset_dims for slices of rank {len(offsets)}")
    op.check_dims("offset_dims", dims.offset_dims, len(batch) + len(offsets))
    rank = range(len(batch) + len(offsets))
    shape = tuple(offsets.pop(0) if dim in dims.offset_dims else batch.pop(0) for dim in rank)
    return (operand.with_shape(shape),)


def _rule(op: Op) -> FactorRule:
    """Factors: the result's dimensions in order, then the collapsed ones, then the index vector's."""
    dims = cast(GatherDims, op.attrs["dimension_numbers"])
    operand, indices = op.operands
    batch = batch_dims(indices.rank, dims.index_vector_dim)
    skipped = dims.collapsed_slice_dims + dims.operand_batching_dims
    windows = (d for d in range(operand.rank) if d not in skipped)
    explicit = dict(zip(dims.start_indices_batching_dims, dims.operand_batching_dims, strict=True))
    builder = RuleBuilder(op)
    for out, size in enumerate(op.results[0].shape):
        if out in dims.offset_dims:
            _window(builder, next(windows), out, op)
            continue
        dim = next(batch)
        along = {0: explicit[dim], 1: dim} if dim in explicit else {1: dim}
        builder.factor(size, along, {0: out})
    for dim in dims.collapsed_slice_dims:
        size = operand.shape[dim]
        kind = Kind.REPLICATE if size == 1 else Kind.REDUCTION
        builder.factor(size, {0: dim}, kind=kind, plain=False)
    index_vector(builder, op, 1, dims.index_vector_dim)
    return builder.build(reduction=partial_kind("sum", operand.dtype), linear=[[0]], monotone=[[0]])


def _window(builder: RuleBuilder, dim: int, out: int, op: Op) -> None:
    size, taken = op.operands[0].shape[dim], op.results[0].shape[out]
    if size == taken:
        builder.factor(size, {0: dim}, {0: out})
    elif taken == 1:
        builder.factor(size, {0: dim}, kind=Kind.REDUCTION, plain=False)
        builder.factor(1, results={0: out}, kind=Kind.REPLICATE)
    else:
        builder.factor(size, {0: dim}, {0: out}, Kind.REPLICATE, blocked=True)


def _moved(op: Op) -> Moved:
    """The indices, and the slices; of the operand no more than there is, whatever comes again."""
    operand, indices = op.operands
    return (min(operand.nbytes, op.results[0].nbytes), indices.nbytes), (op.results[0].nbytes,)


gather = define(
    OpDef(
        name="stablehlo.gather",
        doc="One slice of the operand for every index vector.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.gather, "dimension_numbers", "slice_sizes"),
        work=Work(lambda op: 0, _moved),
        syntax=Syntax(
            ("operand", "start_indices"),
            attrs={"dimension_numbers": "gather", "slice_sizes": "ints", "indices_are_sorted": "bool?"},
        ),
        example=of(
            "stablehlo.gather",
            [ROWS, PLACES],
            ROWS.with_shape((6, 4)),
            dimension_numbers=GatherDims(
                offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1
            ),
            slice_sizes=(1, 4),
        ),
        spelling=Spelling(variable="rows"),
    )
)
