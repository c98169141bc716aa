"""Updates are combined into the operands at the places that the indices say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from shardc.graph import Op, ScatterDims
from shardc.ops.definition import Moved, OpDef, Rate, Syntax, Work, of, per_update
from shardc.ops.indexing.indices import (
    PLACES,
    ROWS,
    batch_dims,
    batch_shape,
    check_batching,
    index_vector,
)
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, partial_kind
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import ops as kernels
from shardc.semantics.arrays import Array, Body
from shardc.semantics.reduction import UFUNCS


def _types(op: UntypedOp) -> Types:
    """The types of the inputs."""
    count = len(op.operands) // 2
    if not count or len(op.operands) != 2 * count + 1:
        raise op.error(f"takes inputs, indices and as many updates, got {len(op.operands)} operands")
    inputs, indices, updates = op.operands[:count], op.operands[count], op.operands[count + 1 :]
    dims = op.get("scatter_dimension_numbers", ScatterDims)
    operand, update = inputs[0], updates[0]
    dropped = dims.inserted_window_dims + dims.input_batching_dims
    op.check_dims("inserted or batching dimension", dropped, operand.rank)
    indexed = dims.scatter_dims_to_operand_dims + dims.input_batching_dims
    op.check_dims("scatter_dims_to_operand_dims or batching dimension", indexed, operand.rank)
    op.check_dims("update_window_dims", dims.update_window_dims, update.rank)
    check_batching(op, operand, indices, dims.input_batching_dims, dims.scatter_indices_batching_dims)
    batch = batch_shape(op, indices, dims.index_vector_dim, len(dims.scatter_dims_to_operand_dims))
    got = tuple(size for dim, size in enumerate(update.shape) if dim not in dims.update_window_dims)
    if got != batch:
        raise op.error(f"with indices {indices} needs updates for {list(batch)}, got {list(got)} in {update}")
    kept = [size for dim, size in enumerate(operand.shape) if dim not in dropped]
    if len(kept) != len(dims.update_window_dims):
        raise op.error(
            f"has {len(dims.update_window_dims)} update_window_dims for windows of rank {len(kept)}"
        )
    for dim, size in zip(dims.update_window_dims, kept, strict=True):
        if update.shape[dim] > size:
            raise op.error(f"has windows of {update.shape[dim]} in dimension {dim} of {update}; {size} fit")
    for each, new in zip(inputs, updates, strict=True):
        if each.shape != operand.shape or new.shape != update.shape or each.dtype != new.dtype:
            raise op.error(f"needs inputs and updates that agree, got {each} and {new}")
    op.check_region(0, tuple(each.with_shape(()) for each in inputs))
    return inputs


def _rule(op: Op) -> FactorRule:
    """Operands: n inputs, indices, n updates. Factors: updates' dimensions, inserted ones, index vector.

    Different updates of one sum (max, …) make partial results of it, and what they are added to counts once.
    Updates that overwrite are linear if no two go to the same place.
    """
    dims = cast(ScatterDims, op.attrs["scatter_dimension_numbers"])
    count = len(op.results)
    operand, indices, update = op.operands[0], op.operands[count], op.operands[-1]
    batch = batch_dims(indices.rank, dims.index_vector_dim)
    skipped = dims.inserted_window_dims + dims.input_batching_dims
    windows = (d for d in range(operand.rank) if d not in skipped)
    explicit = dict(zip(dims.scatter_indices_batching_dims, dims.input_batching_dims, strict=True))
    combines = op.combiner in ("sum", "prod", "max", "min", "and", "or")
    builder = RuleBuilder(op)
    for dim, size in enumerate(update.shape):
        updates = {count + 1 + i: dim for i in range(count)}
        if dim in dims.update_window_dims:
            _window(builder, next(windows), operand.shape, updates, size, count)
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
    index_vector(builder, op, count, dims.index_vector_dim)
    return _partials(op, builder, count)


def _partials(op: Op, builder: RuleBuilder, count: int) -> FactorRule:
    kinds = {partial_kind(op.combiner, type.dtype) for type in op.results}
    kind = kinds.pop() if len(kinds) == 1 else None
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


def _window(
    builder: RuleBuilder, dim: int, shape: tuple[int, ...], updates: dict[int, int], size: int, count: int
) -> None:
    inputs = dict.fromkeys(range(count), dim)
    if shape[dim] == size:
        builder.factor(size, {**inputs, **updates}, inputs)
    else:
        builder.factor(shape[dim], inputs, inputs, Kind.REPLICATE)
        builder.factor(size, updates, kind=Kind.REPLICATE)


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    dims: Any = op.attrs["scatter_dimension_numbers"]
    operands, indices, updates = arrays[:count], arrays[count], arrays[count + 1 :]
    body = bodies[0] if bodies else None
    kind = op.combiner if op.combiner == "set" or op.combiner in UFUNCS else None
    return kernels.scatter(operands, indices, updates, body, scatter_dimension_numbers=dims, kind=kind)


def _moved(op: Op) -> Moved:
    """The indices and the updates; the places of the updates are written, and read unless overwritten."""
    count = len(op.results)
    given = tuple(type.nbytes for type in op.operands)
    places = tuple(min(sizes) for sizes in zip(given[:count], given[count + 1 :], strict=True))
    return ((0,) * count if op.combiner == "set" else places) + given[count:], places


scatter = define(
    OpDef(
        name="stablehlo.scatter",
        doc="Combines updates into the operands where the indices say, by the body.",
        infer=_types,
        rule=_rule,
        meaning=_meaning,
        work=Work(per_update, _moved, rate=lambda op: Rate.SCATTER),
        syntax=Syntax(
            ("*inputs", "scatter_indices", "*updates"),
            ("*outputs",),
            attrs={
                "scatter_dimension_numbers": "scatter",
                "indices_are_sorted": "bool?",
                "unique_indices": "bool?",
            },
            regions=("update_computation",),
            same_sizes=True,
        ),
        example=of(
            "stablehlo.scatter",
            [ROWS, PLACES, ROWS.with_shape((6, 4))],
            ROWS,
            combiner="sum",
            scatter_dimension_numbers=ScatterDims(
                update_window_dims=(1,),
                inserted_window_dims=(0,),
                scatter_dims_to_operand_dims=(0,),
                index_vector_dim=1,
            ),
        ),
    )
)
