"""Derivatives of the operations of per-device code: all linear, each the transpose of another.

A value that differs between devices has a cotangent that does; one that is the same has one that is the same;
a partial sum has a cotangent that is the same. Where an operand is the same over axes and the result is not,
the cotangent is summed over them, unless a formula says otherwise by `Summed`.
"""

from __future__ import annotations

from typing import cast

from shardc.layout import Axis, Sharding, size_of
from shardc.layout.sharding import Dim
from shardc.ops import sdy, spmd
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Derivative, Missing, Step, Summed, linear
from shardc.ops.derivatives.terms import Term


def _axes(s: Step) -> tuple[Axis, ...]:
    return cast("tuple[Axis, ...]", s.op.attrs["axes"])


def _sum_only(s: Step) -> None:
    kind = s.op.attrs["kind"]
    if kind != "sum":
        raise Missing(f"p{kind} has no derivative, as in JAX: give it stop_gradient(x)")


def _all_reduce(s: Step, ct: Term) -> Term | Summed:
    """psum: the cotangent, which is the same on all devices; of copies, as many times."""
    _sum_only(s)
    copies = s.same(0, _axes(s))
    return Summed(ct * float(size_of(copies)) if copies else ct, ())


def _reduce_scatter(s: Step, ct: Term) -> Term:
    _sum_only(s)
    axes = _axes(s)
    whole = bool(s.partial(0, axes))
    return ct.op(spmd.all_gather, axes=axes, dim=s.op.attrs["dim"], invariant=whole)


def _all_gather(s: Step, ct: Term) -> Term | Summed:
    axes, dim = _axes(s), s.op.attrs["dim"]
    if s.op.attrs.get("invariant"):
        return Summed(ct.op(spmd.all_slice, axes=axes, dim=dim), s.same(0, axes))
    return ct.op(spmd.reduce_scatter, axes=axes, dim=dim, kind="sum")


def _all_slice(s: Step, ct: Term) -> Term | Summed:
    """One's own part: of what is the same everywhere the parts are joined, else the others are zero."""
    axes, dim = _axes(s), cast(int, s.op.attrs["dim"])
    if s.same(0, axes) == axes:
        return Summed(ct.op(spmd.all_gather, axes=axes, dim=dim, invariant=True), ())
    raise Missing("block of a value that differs between the devices has no derivative")


def _all_to_all(s: Step, ct: Term) -> Term:
    return ct.op(
        spmd.all_to_all, axes=_axes(s), split_dim=s.op.attrs["concat_dim"], concat_dim=s.op.attrs["split_dim"]
    )


def _permute(s: Step, ct: Term) -> Term:
    pairs = cast("tuple[tuple[int, int], ...]", s.op.attrs["pairs"])
    return ct.op(spmd.collective_permute, axes=_axes(s), pairs=tuple((b, a) for a, b in pairs))


def _broadcast(s: Step, ct: Term) -> Term | Summed:
    """To the device that sent; what it sent is the same for all."""
    axes = _axes(s)
    if s.same(0, axes) == axes:
        return Summed(ct, ())
    index = Term(ct.b, ct.b.one(spmd.axis_index.name, axes=axes))
    root = index.compare("EQ", cast(int, s.op.attrs["root"]))
    here = root.broadcast(ct.shape, ()) if ct.shape else root
    return Summed(ct.where(here), s.same(0, axes))


def _assume_equal(s: Step, ct: Term) -> Term | Summed:
    """Each device has its share of what is promised to be one value."""
    axes = _axes(s)
    copies = s.same(0, axes)
    differs = size_of(axes) // size_of(copies)
    return Summed(ct / float(differs) if differs > 1 else ct, ())


def _to_partial(s: Step, ct: Term) -> Summed:
    if s.op.attrs["kind"] != "sum":
        raise Missing(f"a partial {s.op.attrs['kind']} has no derivative")
    return Summed(ct, ())


def _constraint(s: Step, ct: Term) -> Term:
    """The axes that split the value split its cotangent; it may be a partial sum over all others."""
    sharding = cast(Sharding, s.op.attrs["sharding"])
    dims = tuple(Dim(dim.axes, open=True) for dim in sharding.dims)
    if not any(dim.axes for dim in dims):
        return ct
    return ct.op(
        sdy.sharding_constraint, sharding=Sharding(sharding.mesh, dims, replicated=sharding.unreduced)
    )


COLLECTIVE: dict[OpDef, Derivative] = {
    spmd.all_reduce: linear(_all_reduce),
    spmd.reduce_scatter: linear(_reduce_scatter),
    spmd.all_gather: linear(_all_gather),
    spmd.all_slice: linear(_all_slice),
    spmd.all_to_all: linear(_all_to_all),
    spmd.collective_permute: linear(_permute),
    spmd.collective_broadcast: linear(_broadcast),
    spmd.vary: linear(lambda s, ct: ct),
    spmd.assume_equal: linear(_assume_equal),
    spmd.to_partial: linear(_to_partial),
    spmd.as_partial: linear(_to_partial),
    sdy.sharding_constraint: linear(_constraint),
}
