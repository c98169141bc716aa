"""Derivatives of what puts elements in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from shardc.graph.attrs import ScatterDims
from shardc.graph.types import TensorType
from shardc.ops import chlo, hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Cotangents, Derivative, Step
from shardc.ops.derivatives.terms import combining

Found = Mapping[int, Any]


def _sort(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Found:
    """Sort the places along; sorting by them brings cotangents back."""
    first = s.op.operands[0]
    dim, place = cast(int, s.op.attrs.get("dimension", first.rank - 1)), TensorType(first.shape, "i32")
    (arguments, before), (region,) = s.bodies[0], s.regions
    read = {value for node in region.nodes for value in node.operands}
    keys = [i for i in range(len(s.op.operands)) if read & set(region.args[2 * i : 2 * i + 2])]
    pairs = [arg for i in keys for arg in arguments[2 * i : 2 * i + 2]]

    def same_order(b: Any, *args: Any) -> Sequence[Any]:
        given = {i: args[2 * at : 2 * at + 2] for at, i in enumerate(keys)}
        unread = args[:2]
        return before(b, *(v for i in range(len(s.op.operands)) for v in given.get(i, unread)))

    scalar = TensorType((), "i32")
    terms = [s.value(i) for i in keys]
    order = terms[0].ops(
        hlo.sort,
        *terms[1:],
        terms[0].iota(place, dim),
        regions=[((*pairs, scalar, scalar), same_order)],
        dimension=dim,
        is_stable=s.op.attrs.get("is_stable", False),
    )[-1]
    used = [i for i in sorted(wanted) if cotangents[i] is not None]
    if not used:
        return {}
    own = [cotangents[i].type.with_shape(()) for i in used]

    def by_place(b: Any, x: Any, y: Any, *rest: Any) -> list[Any]:
        return [b.one(hlo.compare.name, x, y, comparison_direction="LT")]

    back = order.ops(
        hlo.sort,
        *(cotangents[i] for i in used),
        regions=[((scalar, scalar, *(t for one in own for t in (one, one))), by_place)],
        dimension=dim,
        is_stable=False,
    )[1:]
    return dict(zip(used, back, strict=True))


def _top_k(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Found:
    ct = cotangents[0]
    if ct is None:
        return {}
    rank = len(ct.shape)
    batch = tuple(range(rank - 1))
    scalar = ct.type.with_shape(())
    (result,) = ct.filled(0.0, s.op.operands[0]).ops(
        hlo.scatter,
        s.result(1).reshape((*ct.shape, 1)),
        ct,
        regions=[combining(hlo.add, scalar)],
        scatter_dimension_numbers=ScatterDims((), (rank - 1,), batch, batch, (rank - 1,), rank),
        indices_are_sorted=False,
        unique_indices=True,
    )
    return {0: result}


ORDER: dict[OpDef, Derivative] = {
    hlo.sort: Derivative(_sort),
    chlo.top_k: Derivative(_top_k, flows=(0,)),
}
