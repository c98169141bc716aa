"""Derivatives of reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from shardc.ops import hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Cotangents, Derivative, Missing, Step
from shardc.ops.derivatives.terms import Term

Found = Mapping[int, Any]


def _stretched(s: Step, term: Term) -> Term:
    """A result of a reduction, repeated along what was reduced."""
    shape, dims = s.op.operands[0].shape, cast("tuple[int, ...]", s.op.attrs["dimensions"])
    return term.broadcast(shape, [d for d in range(len(shape)) if d not in dims])


def _reduce(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Found:
    if any(i >= len(s.op.results) for i in wanted) and s.op.combiner != "sum":
        raise Missing("what a reduction starts from has a cotangent only where it sums")
    if s.op.combiner not in _REDUCE:
        raise Missing("a reduction by a function of its own has no derivative")
    return _REDUCE[s.op.combiner](s, cotangents[0], wanted)


def _sum(s: Step, ct: Term, wanted: frozenset[int]) -> Found:
    every = {0: lambda: _stretched(s, ct), 1: lambda: ct.sum(range(len(ct.shape)))}
    return {i: every[i]() for i in sorted(wanted)}


def _extreme(s: Step, ct: Term, wanted: frozenset[int]) -> Found:
    """Equal elements share."""
    if s.part_of in ("softmax", "log_softmax", "logsumexp"):
        return {}  # the shift cancels: jax.nn stops its gradient
    dims = cast("tuple[int, ...]", s.op.attrs["dimensions"])
    at = s.x.compare("EQ", _stretched(s, s.out))
    ones = s.x.filled(1.0).where(at)
    return {0: ones * _stretched(s, ct / ones.sum(dims))}


def _product(s: Step, ct: Term, wanted: frozenset[int]) -> Found:
    """The product of the other elements: with one zero among them all but its own is zero."""
    dims = cast("tuple[int, ...]", s.op.attrs["dimensions"])
    zero = s.x.compare("EQ", 0.0)
    others = s.x.filled(1.0).where(zero, s.x)
    zeros = _stretched(s, s.x.filled(1.0).where(zero).sum(dims))
    whole = _stretched(s, others.reduced(hlo.multiply, 1.0, dims))
    one = zeros.compare("EQ", 1.0) & zero
    slope = (whole / others).where(zeros.compare("EQ", 0.0), whole.where(one))
    return {0: _stretched(s, ct) * slope}


def _chosen(s: Step, ct: Term | None, wanted: frozenset[int]) -> Found:
    """Of argmax and argmin, the value is the element at the index."""
    if ct is None:
        return {}
    return {0: _stretched(s, ct).where(s.y.compare("EQ", _stretched(s, s.result(1))))}


_REDUCE: dict[str | None, Callable[[Step, Any, frozenset[int]], Found]] = {
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "prod": _product,
    "argmax": _chosen,
    "argmin": _chosen,
    "and": lambda s, ct, wanted: {},
    "or": lambda s, ct, wanted: {},
}


REDUCTION: dict[OpDef, Derivative] = {hlo.reduce: Derivative(_reduce)}
