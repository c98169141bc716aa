"""Why an axis did not go where an operation would have let it: for each place, what stopped it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from shardc.layout import Axis, cut
from shardc.propagation.basic import beside_others
from shardc.propagation.direction import Direction
from shardc.propagation.flow import Link
from shardc.propagation.lists import Axes, dividing_part, starts
from shardc.propagation.projection import Projection, project
from shardc.propagation.provenance import seen_by
from shardc.propagation.run import Result
from shardc.propagation.step import common_mesh

Reason = Literal["closed", "replicated", "partial", "conflict", "divides", "barrier", "blocked", "other"]


class Stop(Struct, frozen=True):
    """`axis` is on dimension `source_dim` of `source` and did not come to `dim` of `place` through `link`.

    The reasons, in their order: the dimension is closed; the axis is kept from this tensor, or is one it is
    partial over; another axis is there already, or this axis splits dimension `other_dim` (`other` is the
    axis in the way); the axis does not divide the dimension's part; a barrier; a factor that nothing is
    propagated along; another tensor of the operation, that of place `culprit`, could not take it.
    """

    place: int
    dim: int
    axis: Axis
    link: Link
    factor: int
    source: int
    source_dim: int
    reason: Reason
    other: Axis | None = None
    other_dim: int = -1
    culprit: int = -1


class Stops:
    """What stopped axes in one propagation."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._links: dict[int, list[tuple[Link, int]]] = {}
        for link in (*result.flow.links, *result.flow.returns):
            for tensor, place in enumerate(link.tensors):
                self._links.setdefault(place, []).append((link, tensor))

    def at(self, place: int) -> Iterator[Stop]:
        """Everything that did not come to a place, by operation."""
        for link, tensor in self._links.get(place, ()):
            shardings = [seen_by(link, i, self._result.found[p]) for i, p in enumerate(link.tensors)]
            mesh = common_mesh(shardings)
            if mesh is not None and not mesh.is_maximal:
                yield from _stops(link, tensor, project(link.rule, shardings))


def _stops(link: Link, tensor: int, projection: Projection) -> Iterator[Stop]:
    me = projection.tensors[tensor]
    for factor, held in me.factors.items():
        if held.overflow:
            continue
        for other, theirs in enumerate(projection.tensors):
            wanted = theirs.factors[factor].axes if factor in theirs.factors else ()
            if other == tensor or not wanted or starts(wanted, held.axes):
                continue
            axis = next((a for i, a in enumerate(wanted) if held.axes[i : i + 1] != (a,)), wanted[-1])
            in_place = () if starts(held.axes, wanted) else held.axes
            reason, obstacle, where = _reason(link, tensor, factor, axis, in_place, projection)
            culprit = _culprit(link, tensor, factor, axis, projection) if reason == "other" else -1
            yield Stop(
                link.tensors[tensor],
                _dim_of(link, tensor, factor),
                axis,
                link,
                factor,
                link.tensors[other],
                _dim_of(link, other, factor),
                reason,
                obstacle,
                where,
                culprit,
            )
            break


_Why = tuple[Reason, Axis | None, int]


def _reason(link: Link, tensor: int, factor: int, axis: Axis, in_place: Axes, projection: Projection) -> _Why:
    """Why an axis did not come; `in_place` are axes of the factor that contradict it."""
    if link.fixed is not None and not _passes(link.fixed, tensor, len(projection.operands)):
        return "barrier", None, -1
    if link.rule.factors[factor].blocked:
        return "blocked", None, -1
    own = _in_tensor(link, tensor, factor, axis, in_place, projection)
    if own is not None:
        return own
    for number, theirs in enumerate(projection.tensors):
        if number != tensor and factor in theirs.factors:
            for held in theirs.factors[factor].axes[:1]:
                if not held.overlaps(axis):
                    return "conflict", held, _dim_of(link, tensor, factor)
    return "other", None, -1


def _in_tensor(
    link: Link, tensor: int, factor: int, axis: Axis, in_place: Axes, projection: Projection
) -> _Why | None:
    """What in the tensor itself is in the way."""
    me = projection.tensors[tensor]
    held = me.factors[factor]
    if cut(axis, me.replicated) is None:
        return "replicated", None, -1
    if cut(axis, me.unreduced) is None:
        return "partial", None, -1
    if beside_others(axis, me, factor) is None:
        for other, theirs in me.factors.items():
            if other != factor and any(a.overlaps(axis) for a in theirs.axes + theirs.overflow):
                return "conflict", axis, _dim_of(link, tensor, other)
    if in_place:
        return "conflict", in_place[0], _dim_of(link, tensor, factor)
    if held.closed:
        return "closed", None, -1
    if not held.minor_most and dividing_part(axis, projection.sizes[factor]) != axis:
        return "divides", None, -1
    return None


def _culprit(link: Link, tensor: int, factor: int, axis: Axis, projection: Projection) -> int:
    """The place of another tensor that could not take an axis; -1 if there is none."""
    for number, theirs in enumerate(projection.tensors):
        if number != tensor and factor in theirs.factors and not theirs.factors[factor].axes:
            if _in_tensor(link, number, factor, axis, (), projection) is not None:
                return link.tensors[number]
    return -1


def _passes(direction: Direction, tensor: int, operands: int) -> bool:
    return bool(direction & (Direction.BACKWARD if tensor < operands else Direction.FORWARD))


def _dim_of(link: Link, tensor: int, factor: int) -> int:
    return next(dim for dim, factors in enumerate(link.rule.tensors[tensor]) if factor in factors)
