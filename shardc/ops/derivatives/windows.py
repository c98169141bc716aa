"""Derivatives of windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from shardc.graph.types import identity
from shardc.ops import hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Cotangents, Derivative, Missing, Step
from shardc.ops.derivatives.contraction import spread_padding
from shardc.ops.derivatives.terms import Term, combining

Found = Mapping[int, Any]


def _window(s: Step) -> dict[str, Any]:
    rank = s.op.operands[0].rank
    ones = (1,) * rank
    attrs: dict[str, Any] = {
        name: tuple(cast("Sequence[int]", s.op.attrs.get(name) or ones)) for name in _SIZES
    }
    attrs["padding"] = tuple(cast("Sequence[tuple[int, int]]", s.op.attrs.get("padding") or ((0, 0),) * rank))
    return attrs


_SIZES = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")


def _reduce_window(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Found:
    (ct,) = cotangents
    if wanted - {0}:
        raise Missing("what a window starts from has no cotangent")
    if s.op.combiner == "sum":
        return {0: _summed(s, ct)}
    if s.op.combiner in ("max", "min"):
        return {0: _picked(s, ct)}
    if s.op.combiner == "prod" and _running(s) is not None:
        return {0: _running_product(s, ct)}
    raise Missing("windows combined so have no derivative")


def _summed(s: Step, ct: Term) -> Term:
    """Windows over the cotangent, spread out by the strides."""
    w = _window(s)
    padding = spread_padding(
        s.op.operands[0].shape, w["window_dimensions"], w["window_strides"], ct.shape,
        [low for low, _ in w["padding"]], w["base_dilations"], w["window_dilations"],
    )  # fmt: skip
    spread = ct.pad(
        [low for low, _ in padding], [high for _, high in padding], [n - 1 for n in w["window_strides"]]
    )
    ones = (1,) * len(ct.shape)
    return windows(
        spread, hlo.add, 0.0, w["window_dimensions"], w["base_dilations"], ones, w["window_dilations"]
    )


def windows(
    x: Term,
    op: OpDef,
    start: float,
    sizes: Sequence[int],
    strides: Sequence[int],
    base: Sequence[int],
    dilations: Sequence[int],
    padding: Sequence[tuple[int, int]] | None = None,
) -> Term:
    """reduce_window."""
    scalar = x.type.with_shape(())
    (result,) = x.ops(
        hlo.reduce_window,
        x.filled(start, scalar),
        regions=[combining(op, scalar)],
        window_dimensions=tuple(sizes),
        window_strides=tuple(strides),
        base_dilations=tuple(base),
        window_dilations=tuple(dilations),
        padding=tuple(padding or ((0, 0),) * len(x.shape)),
    )
    return result


def _picked(s: Step, ct: Term) -> Term:
    """What a window's extreme gets goes to the first element that is it."""
    w = _window(s)
    if any(n != 1 for n in (*w["base_dilations"], *w["window_dilations"])):
        raise Missing("extremes of dilated windows have no derivative")
    scalar = ct.type.with_shape(())
    truth = scalar.with_dtype("bool")
    direction = "GE" if s.op.combiner == "max" else "LE"

    def chosen(b: Any, x: Any, y: Any) -> list[Any]:
        return [b.one(hlo.compare.name, x, y, result=truth, comparison_direction=direction)]

    (result,) = s.x.ops(
        hlo.select_and_scatter,
        ct,
        ct.filled(0.0, scalar),
        regions=[((scalar, scalar), chosen), combining(hlo.add, scalar)],
        window_dimensions=w["window_dimensions"],
        window_strides=w["window_strides"],
        padding=w["padding"],
    )
    return result


def _scattered(s: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Found:
    """Of select_and_scatter, by what it scatters: what lies where that went."""
    (ct,) = cotangents
    w = _window(s)
    (scalar, _), select = s.bodies[0]
    directions = {node.attrs.get("comparison_direction") for node in s.regions[0].nodes[:-1]}
    if directions not in ({"GE"}, {"LE"}):
        raise Missing("a select_and_scatter that selects by a function of its own has no derivative")

    def first(b: Any, x: Any, own: Any, y: Any, other: Any) -> list[Any]:
        (chosen,) = select(b, x, y)
        return [b.one(hlo.select.name, chosen, x, y), b.one(hlo.select.name, chosen, own, other)]

    low = s.x.filled(float(identity("max" if directions == {"GE"} else "min", scalar.dtype)), scalar)
    found = s.x.ops(
        hlo.reduce_window,
        ct,
        low,
        ct.filled(0.0, scalar),
        regions=[((scalar,) * 4, first)],
        window_dimensions=w["window_dimensions"],
        window_strides=w["window_strides"],
        padding=w["padding"],
    )
    return {1: found[1]}


def _running(s: Step) -> int | None:
    """The dimension along which the windows hold all elements up to one's own."""
    w, shape = _window(s), s.op.operands[0].shape
    wide = [d for d, size in enumerate(w["window_dimensions"]) if size != 1]
    ones = (1,) * len(shape)
    if len(wide) != 1 or {w["window_strides"], w["base_dilations"], w["window_dilations"]} != {ones}:
        return None
    (dim,) = wide
    fits = w["window_dimensions"][dim] == shape[dim] and w["padding"][dim] == (shape[dim] - 1, 0)
    return dim if fits else None


def _running_product(s: Step, ct: Term) -> Term:
    """Up to the first zero, the later products over the element; to that zero go those without it."""
    dim, shape = cast(int, _running(s)), s.op.operands[0].shape
    sizes = [n if d == dim else 1 for d, n in enumerate(shape)]
    ones = (1,) * len(shape)

    def running(x: Term, op: OpDef, start: float, backwards: bool = False) -> Term:
        pads = [
            ((0, n - 1) if backwards else (n - 1, 0)) if d == dim else (0, 0) for d, n in enumerate(shape)
        ]
        return windows(x, op, start, sizes, ones, ones, ones, pads)

    zero = s.x.compare("EQ", 0.0)
    others = s.x.filled(1.0).where(zero, s.x)
    zeros = running(s.x.filled(1.0).where(zero), hlo.add, 0.0)
    weighted = ct * running(others, hlo.multiply, 1.0)
    none, one = (
        running(weighted.where(zeros.compare("EQ", count)), hlo.add, 0.0, True) for count in (0.0, 1.0)
    )
    return one.where(zero, none / others)


WINDOWS: dict[OpDef, Derivative] = {
    hlo.reduce_window: Derivative(_reduce_window),
    hlo.select_and_scatter: Derivative(_scattered, flows=(1,)),
}
