"""Computed places in stacks: places that all slices share, or each slice's own, as batching dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shardc.graph.attrs import Dense, GatherDims, ScatterDims
from shardc.graph.builder import Body
from shardc.ops import hlo
from shardc.ops.batches.movement import behind, ints
from shardc.ops.batching import Batch, Batching
from shardc.ops.definition import OpDef
from shardc.ops.derivatives.terms import Term


def _gather(b: Batch) -> Sequence[Term]:
    dims = cast(GatherDims, b.op.attrs["dimension_numbers"])
    sizes = ints(b, "slice_sizes")
    inside, own = 0 in b.stacks, 1 in b.stacks
    both = (0,) if inside and own else ()
    whole = (0,) if inside and not own else ()

    def shift(dims: tuple[int, ...]) -> tuple[int, ...]:
        return behind(dims) if inside else dims

    shifted = GatherDims(
        offset_dims=(*whole, *behind(dims.offset_dims)),
        collapsed_slice_dims=shift(dims.collapsed_slice_dims),
        operand_batching_dims=(*both, *shift(dims.operand_batching_dims)),
        start_indices_batching_dims=(
            *both,
            *(behind(dims.start_indices_batching_dims) if own else dims.start_indices_batching_dims),
        ),
        start_index_map=shift(dims.start_index_map),
        index_vector_dim=dims.index_vector_dim + own,
    )
    taken = (1 if own else b.size, *sizes) if inside else sizes
    order = {"indices_are_sorted": False} if own and "indices_are_sorted" in b.op.attrs else {}
    return b.build(b.given, dimension_numbers=shifted, slice_sizes=taken, **order)


def _scatter(b: Batch) -> Sequence[Term]:
    """Each slice writes into a tensor of its own."""
    dims = cast(ScatterDims, b.op.attrs["scatter_dimension_numbers"])
    count = len(b.given) // 2
    own = count in b.stacks
    both, whole = ((0,), ()) if own else ((), (0,))
    shifted = ScatterDims(
        update_window_dims=(*whole, *behind(dims.update_window_dims)),
        inserted_window_dims=behind(dims.inserted_window_dims),
        input_batching_dims=(*both, *behind(dims.input_batching_dims)),
        scatter_indices_batching_dims=(
            *both,
            *(behind(dims.scatter_indices_batching_dims) if own else dims.scatter_indices_batching_dims),
        ),
        scatter_dims_to_operand_dims=behind(dims.scatter_dims_to_operand_dims),
        index_vector_dim=dims.index_vector_dim + own,
    )
    operands = [b.given[i] if i == count else b.full(i) for i in range(len(b.given))]
    order = {"indices_are_sorted": False} if own and "indices_are_sorted" in b.op.attrs else {}
    return b.build(operands, scatter_dimension_numbers=shifted, **order)


def _zero(like: Term) -> Term:
    return like.filled(0, like.type.with_shape(()))


def _places(b: Batch, first: int) -> Term:
    """The places of each slice, one row each."""
    rows = [cast(Term, b.full(i)).reshape((b.size, 1)) for i in range(first, len(b.given))]
    if len(rows) == 1:
        return rows[0]
    return rows[0].op(hlo.concatenate, *rows[1:], dimension=1)


def _dynamic_slice(b: Batch) -> Sequence[Term]:
    """Where the places are the slices' own, a gather, which moves windows inside just so."""
    sizes, rank = ints(b, "slice_sizes"), b.op.operands[0].rank
    if not rank:
        return [b.full(0)]
    if not any(i in b.stacks for i in range(1, len(b.given))):
        return b.build([b.full(0), _zero(b.given[1]), *b.given[1:]], slice_sizes=(b.size, *sizes))
    inside = 0 in b.stacks
    dims = GatherDims(
        offset_dims=tuple(range(1, rank + 1)),
        operand_batching_dims=(0,) if inside else (),
        start_indices_batching_dims=(0,) if inside else (),
        start_index_map=tuple(range(inside, rank + inside)),
        index_vector_dim=1,
    )
    x: Term = b.given[0]
    taken = (1, *sizes) if inside else sizes
    return [x.op(hlo.gather, _places(b, 1), dimension_numbers=dims, slice_sizes=taken)]


def _dynamic_update(b: Batch) -> Sequence[Term]:
    """Where the places are the slices' own, a scatter to places moved inside, which overwrites."""
    x, update = cast("tuple[Term, Term]", (b.full(0), b.full(1)))
    rank = b.op.operands[0].rank
    if not rank:
        return [update]
    if not any(i in b.stacks for i in range(2, len(b.given))):
        return b.build([x, update, _zero(b.given[2]), *b.given[2:]])
    places = _places(b, 2)
    spans = zip(b.op.operands[0].shape, b.op.operands[1].shape, strict=True)
    last = _row(places, [size - taken for size, taken in spans])
    inside = places.op(hlo.maximum, places.filled(0)).op(hlo.minimum, last)
    dims = ScatterDims(
        update_window_dims=tuple(range(1, rank + 1)),
        input_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
        scatter_dims_to_operand_dims=tuple(range(1, rank + 1)),
        index_vector_dim=1,
    )
    scalar = x.type.with_shape(())
    return x.ops(
        hlo.scatter,
        inside,
        update,
        regions=[_last(scalar)],
        scatter_dimension_numbers=dims,
        indices_are_sorted=True,
        unique_indices=True,
    )


def _row(like: Term, numbers: Sequence[int]) -> Term:
    """The same numbers in every row."""
    type = like.type.with_shape((len(numbers),))
    data = Dense(np.array(numbers, dtype=type.numpy), type.shape)
    row = Term(like.b, like.b.one(hlo.constant.name, result=type, value=data))
    return row.broadcast(like.shape, (1,))


def _last(scalar: Any) -> Body:
    """A body that gives its last argument."""

    def build(_: Any, old: Any, new: Any) -> Sequence[Any]:
        return [new]

    return (scalar, scalar), build


INDEXING: dict[OpDef, Batching] = {
    hlo.dynamic_slice: _dynamic_slice,
    hlo.dynamic_update_slice: _dynamic_update,
    hlo.gather: _gather,
    hlo.scatter: _scatter,
}
