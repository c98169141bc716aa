"""Assignments: which axes split each factor of an operation, and what that makes of its tensors.

An assignment and a rule give every tensor's sharding, so the question of how to run an operation has one
answer per factor instead of one per tensor. Factors are numbered as in the rule; axes are major to minor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from math import gcd

from msgspec import Struct

from shardc.layout import Axis, Dim, Mesh, Sharding, merge, shared
from shardc.ops.rule import Dims, FactorRule, Kind

Assignment = tuple[tuple[Axis, ...], ...]
"""For each factor the axes that split it."""


def operand_shardings(
    rule: FactorRule,
    assignment: Assignment,
    mesh: Mesh,
    partial: Sequence[Axis] = (),
    group: frozenset[int] | None = None,
    kind: str = "sum",
) -> tuple[Sharding, ...]:
    """The closed sharding that each operand has when the operation runs under `assignment`.

    `partial` axes reach the operands of `group`, one of rule.flows(kind), as partials of `kind`. Operands
    that count once are partial over the axes of REDUCTION factors. ValueError if `group` is no such group.
    """
    if partial:
        _flow(rule, group, kind)
    reduced = _reduced(rule, assignment)
    shardings: list[Sharding] = []
    for index, dims in enumerate(rule.operands):
        carried = tuple(partial) if group is not None and index in group else ()
        own = reduced if index in rule.once else ()
        held_as = kind if carried else rule.reduction or "sum"
        shardings.append(_sharding(dims, assignment, mesh, own + carried, held_as))
    return tuple(shardings)


def result_shardings(
    rule: FactorRule,
    assignment: Assignment,
    mesh: Mesh,
    partial: Sequence[Axis] = (),
    group: frozenset[int] | None = None,
    kind: str = "sum",
) -> tuple[Sharding, ...]:
    """The closed sharding of each result: partial over the axes of REDUCTION factors, and over `partial`.

    Arguments as in `operand_shardings`. ValueError if the two partials would be of different kinds.
    """
    reduced = _reduced(rule, assignment)
    held_as = _flow(rule, group, kind) if partial else rule.reduction or "sum"
    if partial and reduced and held_as != rule.reduction:
        raise ValueError(f"a result cannot be partial by {rule.reduction} and by {held_as}")
    unreduced = reduced + tuple(partial)
    return tuple(_sharding(dims, assignment, mesh, unreduced, held_as) for dims in rule.results)


class FactorAxes(Struct, frozen=True):
    """A tensor's axes, handed to its factors. `overflow`: axes that fit no factor, under the one they met."""

    axes: dict[int, tuple[Axis, ...]] = {}
    overflow: dict[int, tuple[Axis, ...]] = {}


def project(dims: Dims, sharding: Sharding, rule: FactorRule) -> FactorAxes:
    """Hand the axes of each dimension to its factors, major to minor. Every factor of `dims` gets an entry.

    A factor takes axes, or a major part of one, while they divide what is left of its size; the minor-most
    one takes the rest, divisible or not. Of 32@(x=2, y=8) = ij, i of 8 gets x and y:(1)4, j of 4 gets y:(4)2.
    """
    projection = FactorAxes()
    for factors, dim in zip(dims, sharding.dims, strict=True):
        rest = list(dim.axes)
        for factor in factors[:-1]:
            taken, left = _take(rest, rule.factors[factor].size)
            projection.axes[factor] = merge(taken)
            if left > 1 and rest:
                projection.overflow[factor] = tuple(rest)
                rest = []
        projection.axes[factors[-1]] = merge(rest)
    return projection


def _take(rest: list[Axis], size: int) -> tuple[list[Axis], int]:
    """Take axes from the front of `rest` while they divide `size`: what was taken, what is left of `size`."""
    taken: list[Axis] = []
    while rest and (rest[0].size == 1 or gcd(size, rest[0].size) > 1):
        axis = rest.pop(0)
        part = gcd(size, axis.size)
        if part < axis.size:
            rest.insert(0, Axis(axis.name, axis.size // part, axis.pre * part))
        taken.append(Axis(axis.name, part, axis.pre))
        size //= part
    return taken, size


def _sharding(
    dims: Dims, assignment: Assignment, mesh: Mesh, unreduced: tuple[Axis, ...], kind: str
) -> Sharding:
    split = [
        merge(assignment[factors[0]] if len(factors) == 1 else chain.from_iterable(map(at, factors)))
        for at in (assignment.__getitem__,)
        for factors in dims
    ]
    return _split_over(mesh, tuple(split), unreduced, kind if unreduced else "sum")


@lru_cache(maxsize=65536)
def _split_over(
    mesh: Mesh, axes: tuple[tuple[Axis, ...], ...], unreduced: tuple[Axis, ...], kind: str
) -> Sharding:
    """The layout with these axes in each dimension; the same object for equal ones."""
    unreduced = merge(sorted(unreduced, key=mesh.order))
    return shared(Sharding(mesh, tuple(map(Dim, axes)), unreduced=unreduced, kind=kind))


def _reduced(rule: FactorRule, assignment: Assignment) -> tuple[Axis, ...]:
    return tuple(
        [
            axis
            for factor, axes in zip(rule.factors, assignment, strict=True)
            if axes and factor.kind is Kind.REDUCTION
            for axis in axes
        ]
    )


def _flow(rule: FactorRule, group: frozenset[int] | None, kind: str) -> str:
    """The kind that partials of `kind` in `group` give the results."""
    for candidate, result in rule.flows(kind):
        if candidate == group:
            return result
    raise ValueError(f"operands {sorted(group or ())} let no partial {kind} through")
