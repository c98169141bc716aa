"""Derivatives of operations that move elements: all linear, and transposed by moving them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from shardc.ops import hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Cotangents, Derivative, Step, linear
from shardc.ops.derivatives.terms import Term


def _ints(s: Step, name: str) -> tuple[int, ...]:
    return tuple(cast("tuple[int, ...]", s.op.attrs[name]))


def _broadcast(s: Step, ct: Term) -> Term:
    dims, shape = _ints(s, "broadcast_dimensions"), s.op.operands[0].shape
    kept = [dim for dim, size in zip(dims, shape, strict=True) if size == ct.shape[dim]]
    total = ct.sum([dim for dim in range(len(ct.shape)) if dim not in kept])
    order = sorted(kept)
    moved = total.transpose([order.index(dim) for dim in kept])
    return moved.reshape(shape)


def _transpose(s: Step, ct: Term) -> Term:
    permutation = _ints(s, "permutation")
    return ct.transpose([permutation.index(dim) for dim in range(len(permutation))])


def _slice(s: Step, ct: Term) -> Term:
    starts, strides = _ints(s, "start_indices"), _ints(s, "strides")
    shape, kept = s.op.operands[0].shape, s.op.results[0].shape
    spans = [
        start + (n - 1) * stride + 1 if n else start
        for start, stride, n in zip(starts, strides, kept, strict=True)
    ]
    behind = [size - span for size, span in zip(shape, spans, strict=True)]
    return ct.pad(starts, behind, [stride - 1 if n else 0 for stride, n in zip(strides, kept, strict=True)])


def _pad(s: Step, ct: Term) -> Term:
    low, high, between = (
        _ints(s, f"{name}") for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    inner = ct.pad([-n for n in low], [-n for n in high], [0] * len(low))
    return inner.slice([0] * len(low), inner.shape, [n + 1 for n in between]) if any(between) else inner


def _padding(s: Step, ct: Term) -> Term:
    every = range(len(ct.shape))
    return ct.sum(every) - _pad(s, ct).sum(range(len(s.op.operands[0].shape)))


def _reverse(s: Step, ct: Term) -> Term:
    return ct.op(hlo.reverse, dimensions=_ints(s, "dimensions"))


def _concatenate(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Mapping[int, Any]:
    ct, dim, at = cotangents[0], cast(int, s.op.attrs["dimension"]), 0
    found: dict[int, Term] = {}
    for i, type in enumerate(s.op.operands):
        starts = [at if d == dim else 0 for d in range(type.rank)]
        limits = [at + type.shape[dim] if d == dim else n for d, n in enumerate(ct.shape)]
        if i in wanted:
            found[i] = ct.slice(starts, limits)
        at += type.shape[dim]
    return found


def _places(s: Step, first: int) -> list[Term]:
    return [s.value(i) for i in range(first, len(s.op.operands))]


def _dynamic_slice(s: Step, ct: Term) -> Term:
    return ct.filled(0.0, s.op.operands[0]).op(hlo.dynamic_update_slice, ct, *_places(s, 1))


def _dynamic_update(s: Step, ct: Term) -> Term:
    return ct.op(hlo.dynamic_update_slice, ct.filled(0.0, s.op.operands[1]), *_places(s, 2))


def _updated(s: Step, ct: Term) -> Term:
    return ct.op(hlo.dynamic_slice, *_places(s, 2), slice_sizes=s.op.operands[1].shape)


def _same(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Mapping[int, Any]:
    return {i: cotangents[i] for i in sorted(wanted) if cotangents[i] is not None}


MOVEMENT: dict[OpDef, Derivative] = {
    hlo.broadcast_in_dim: linear(_broadcast),
    hlo.reshape: linear(lambda s, ct: ct.reshape(s.op.operands[0].shape)),
    hlo.transpose: linear(_transpose),
    hlo.slice_: linear(_slice),
    hlo.pad: linear(_pad, _padding),
    hlo.reverse: linear(_reverse),
    hlo.concatenate: Derivative(_concatenate, every=True),
    hlo.dynamic_slice: linear(_dynamic_slice),
    hlo.dynamic_update_slice: linear(_dynamic_update, _updated),
    hlo.optimization_barrier: Derivative(_same, every=True),
}
