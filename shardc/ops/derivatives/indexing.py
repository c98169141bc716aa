"""Derivatives of reading and writing at computed places: one is the transpose of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.graph.types import TensorType
from shardc.ops import hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Cotangents, Derivative, Missing, Step, linear
from shardc.ops.derivatives.terms import Term, combining


def _limits(indices: Term, vector: int, limits: list[int]) -> Term:
    """The largest start along each dimension that indices name, as a tensor beside the indices."""
    type = indices.type
    whole = len(set(limits)) == 1
    if whole or vector == type.rank:
        return indices.filled(limits[0])
    parts = [
        indices.filled(
            limit, type.with_shape(tuple(1 if d == vector else n for d, n in enumerate(type.shape)))
        )
        for limit in limits
    ]
    return parts[0].op(hlo.concatenate, *parts[1:], dimension=vector)


def _gather(s: Step, ct: Term) -> Term:
    """What was read adds up where it was; places out of range were moved into it."""
    dims = cast(GatherDims, s.op.attrs["dimension_numbers"])
    sizes = cast("tuple[int, ...]", s.op.attrs["slice_sizes"])
    table, indices = s.op.operands[0], s.y
    most = [table.shape[d] - sizes[d] for d in dims.start_index_map]
    if most:
        top = _limits(indices, dims.index_vector_dim, most)
        indices = indices.filled(0).op(hlo.clamp, indices, top)
    scatter = ScatterDims(
        dims.offset_dims,
        dims.collapsed_slice_dims,
        dims.operand_batching_dims,
        dims.start_indices_batching_dims,
        dims.start_index_map,
        dims.index_vector_dim,
    )
    (result,) = ct.filled(0.0, table).ops(
        hlo.scatter,
        indices,
        ct,
        regions=[combining(hlo.add, ct.type.with_shape(()))],
        scatter_dimension_numbers=scatter,
        indices_are_sorted=bool(s.op.attrs.get("indices_are_sorted", False)),
        unique_indices=False,
    )
    return result


def _scatter(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Mapping[int, Any]:
    if len(s.op.operands) != 3:
        raise Missing("a scatter of several tensors has no derivative")
    (ct,) = cotangents
    kind = s.op.combiner
    if kind not in ("sum", "set"):
        raise Missing(f"a scatter by {kind or 'a function of its own'} has no derivative, as in JAX")
    found: dict[int, Term] = {}
    if 0 in wanted:
        found[0] = ct if kind == "sum" else _written(s, ct, ct.filled(0.0, s.op.operands[2]))
    if 2 in wanted:
        found[2] = _read(s, ct).where(_in_range(s))
        if kind == "set" and not s.op.attrs.get("unique_indices"):
            found[2] = found[2].where(_last(s))
    return found


def _dims(s: Step) -> ScatterDims:
    return cast(ScatterDims, s.op.attrs["scatter_dimension_numbers"])


def _written(s: Step, x: Term, updates: Term) -> Term:
    """x with updates in the places of this scatter; the later of two stays."""
    scalar = x.type.with_shape(())

    def second(b: Any, old: Any, new: Any) -> list[Any]:
        return [new]

    (result,) = x.ops(
        hlo.scatter,
        s.y,
        updates,
        regions=[((scalar, scalar), second)],
        scatter_dimension_numbers=_dims(s),
        indices_are_sorted=bool(s.op.attrs.get("indices_are_sorted", False)),
        unique_indices=bool(s.op.attrs.get("unique_indices", False)),
    )
    return result


def _window(s: Step) -> tuple[int, ...]:
    """The size of what one index writes, along each dimension of the operand."""
    dims, shape = _dims(s), s.op.operands[2].shape
    sizes = iter(shape[d] for d in dims.update_window_dims)
    without = (*dims.inserted_window_dims, *dims.input_batching_dims)
    return tuple(1 if d in without else next(sizes) for d in range(s.op.operands[0].rank))


def _read(s: Step, x: Term) -> Term:
    """What x has in the places of this scatter."""
    dims = _dims(s)
    return x.op(
        hlo.gather,
        s.y,
        dimension_numbers=GatherDims(
            dims.update_window_dims,
            dims.inserted_window_dims,
            dims.input_batching_dims,
            dims.scatter_indices_batching_dims,
            dims.scatter_dims_to_operand_dims,
            dims.index_vector_dim,
        ),
        slice_sizes=_window(s),
        indices_are_sorted=bool(s.op.attrs.get("indices_are_sorted", False)),
    )


def _in_range(s: Step) -> Term:
    """Whether an update was written, for each of its elements: what is out of range is dropped."""
    dims, window, indices = _dims(s), _window(s), s.y
    most = [s.op.operands[0].shape[d] - window[d] for d in dims.scatter_dims_to_operand_dims]
    fits = indices.compare("GE", 0) & indices.compare("LE", _limits(indices, dims.index_vector_dim, most))
    if dims.index_vector_dim < len(indices.shape):
        scalar = TensorType((), "bool")
        (fits,) = fits.ops(
            hlo.reduce,
            fits.filled(True, scalar),
            regions=[combining(hlo.and_, scalar)],
            dimensions=(dims.index_vector_dim,),
        )
    shape = s.op.operands[2].shape
    return fits.broadcast(shape, [d for d in range(len(shape)) if d not in dims.update_window_dims])


def _last(s: Step) -> Term:
    """Whether an update is the one that stays where several are written to one place."""
    updates = s.op.operands[2]
    number = TensorType((updates.size,), "i32")
    own = s.x.iota(number, 0).reshape(updates.shape)
    stayed = _read(s, _written(s, own.filled(0, s.op.operands[0].with_dtype("i32")), own))
    return stayed.compare("EQ", own)


INDEXING: dict[OpDef, Derivative] = {
    hlo.gather: linear(_gather),
    hlo.scatter: Derivative(_scatter, flows=(0, 2)),
}
