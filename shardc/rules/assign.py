"""Assignments: which axes split each factor of an operation, and what that makes of its tensors.

An assignment and a rule give every tensor's sharding, so the question of how to run an operation has one
answer per factor instead of one per tensor. Factors are numbered as in the rule; axes are major to minor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import gcd

from shardc.graph.program import Op
from shardc.layout import Axis, Dim, Mesh, Sharding, merge, size_of
from shardc.ops.rule import Dims, FactorRule, Kind, name

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


def legal(
    rule: FactorRule, op: Op, assignment: Assignment, allow: frozenset[int] = frozenset()
) -> str | None:
    """None if running `op` itself on every device's blocks is right under `assignment`, else why not.

    Factors in `allow` may be split whatever their kind and into any number of parts, where they are alone in
    splitting their dimensions: a local form takes care of them.

    Sharding a REDUCTION factor unevenly is legal, but the padding must then hold zeros, or what the reduction
    ignores: `masked` says where.
    """
    return (
        _used_twice(assignment)
        or next(
            filter(
                None, (_unfit(rule, f, axes) for f, axes in enumerate(assignment) if axes and f not in allow)
            ),
            None,
        )
        or next(
            filter(
                None,
                (
                    _crowded(rule, f, assignment) if f in allow else _misplaced(rule, op, f, assignment)
                    for f in range(len(assignment))
                ),
            ),
            None,
        )
    )


def masked(rule: FactorRule, assignment: Assignment) -> tuple[tuple[int, int], ...]:
    """The (operand, dimension) pairs whose padding a reduction would see: uneven REDUCTION factors."""
    uneven = {
        f
        for f, axes in enumerate(assignment)
        if rule.factors[f].kind is Kind.REDUCTION and rule.factors[f].size % size_of(axes)
    }
    return tuple(
        (operand, dim)
        for operand, dims in enumerate(rule.operands)
        for dim, factors in enumerate(dims)
        if uneven.intersection(factors)
    )


@dataclass(frozen=True, slots=True)
class FactorAxes:
    """A tensor's axes, handed to its factors. `overflow`: axes that fit no factor, under the one they met."""

    axes: dict[int, tuple[Axis, ...]] = field(default_factory=dict[int, tuple[Axis, ...]])
    overflow: dict[int, tuple[Axis, ...]] = field(default_factory=dict[int, tuple[Axis, ...]])


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


def factor_axes(
    rule: FactorRule, shardings: Sequence[Sharding | None]
) -> tuple[tuple[tuple[Axis, ...] | None, ...], ...]:
    """For each factor, for each tensor (operands, then results), the axes that its sharding gives the factor.

    None where the tensor has no such factor, or no sharding.
    """
    projections = _projections(rule, shardings)
    return tuple(
        tuple(p.axes.get(factor) if p is not None else None for p in projections)
        for factor in range(len(rule.factors))
    )


def assignment_of(rule: FactorRule, shardings: Sequence[Sharding | None]) -> Assignment | None:
    """The assignment that all the shardings (operands, then results) come from; None if they don't agree.

    They disagree if two give a factor different axes or if axes of one fit no factor. Factors that no tensor
    with a sharding has are not split. Agreement does not make it `legal`.
    """
    if any(p is not None and p.overflow for p in _projections(rule, shardings)):
        return None
    common: list[tuple[Axis, ...]] = []
    for held in factor_axes(rule, shardings):
        choices = {axes for axes in held if axes is not None}
        if len(choices) > 1:
            return None
        common.append(choices.pop() if choices else ())
    return tuple(common)


def _projections(rule: FactorRule, shardings: Sequence[Sharding | None]) -> list[FactorAxes | None]:
    return [
        None if sharding is None else project(dims, sharding, rule)
        for dims, sharding in zip(rule.tensors, shardings, strict=True)
    ]


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
    split = tuple(
        Dim(merge(chain.from_iterable(assignment[factor] for factor in factors))) for factors in dims
    )
    return Sharding(mesh, split, unreduced=merge(sorted(unreduced, key=mesh.order)), kind=kind)


def _reduced(rule: FactorRule, assignment: Assignment) -> tuple[Axis, ...]:
    return tuple(
        axis
        for factor, axes in zip(rule.factors, assignment, strict=True)
        if factor.kind is Kind.REDUCTION
        for axis in axes
    )


def _flow(rule: FactorRule, group: frozenset[int] | None, kind: str) -> str:
    """The kind that partials of `kind` in `group` give the results."""
    for candidate, result in rule.flows(kind):
        if candidate == group:
            return result
    raise ValueError(f"operands {sorted(group or ())} let no partial {kind} through")


def _used_twice(assignment: Assignment) -> str | None:
    used = [(factor, axis) for factor, axes in enumerate(assignment) for axis in axes]
    for (first, axis), (second, other) in combinations(used, 2):
        if axis.overlaps(other):
            if first == second:
                return f"axis {axis.name} splits factor {name(first)} twice"
            return f"axis {axis.name} splits factors {name(first)} and {name(second)}"
    return None


def _unfit(rule: FactorRule, index: int, axes: tuple[Axis, ...]) -> str | None:
    """Why sharding this factor at all is wrong."""
    factor = rule.factors[index]
    what = f"factor {name(index)} is split over {', '.join(map(str, axes))}"
    if factor.kind is Kind.REDUCTION and rule.reduction is None:
        return f"{what}, but its partial results have no combination that an all-reduce knows"
    if not factor.is_plain:
        need = {
            Kind.PASS: "needs indices or edges adjusted on every device",
            Kind.REDUCTION: "needs indices or windows adjusted on every device",
            Kind.REPLICATE: "must be whole on every device",
            Kind.PERMUTATION: "needs data of other devices",
        }
        return f"{what}, but {need[factor.kind]}"
    has = [any(index in dim for dim in dims) for dims in rule.results]
    if factor.kind is Kind.PASS and _in_any(rule.operands, index) and not all(has):
        return f"{what}, but is not in every result"
    return None


def _misplaced(rule: FactorRule, op: Op, index: int, assignment: Assignment) -> str | None:
    """Why sharding this factor is wrong in some dimension that it shares, or that it doesn't divide."""
    if not assignment[index]:
        return None
    size, parts = rule.factors[index].size, size_of(assignment[index])
    for dims, type in zip(rule.tensors, op.operands + op.results, strict=True):
        for factors, length in zip(dims, type.shape, strict=True):
            if index not in factors:
                continue
            if size % parts and (factors != (index,) or length != size):
                return f"factor {name(index)} of size {size} is split into {parts} and shares a dimension"
            for major in factors[: factors.index(index)]:
                if size_of(assignment[major]) != rule.factors[major].size:
                    return (
                        f"factor {name(index)} is split, but {name(major)}, major to it, is not fully split"
                    )
    return None


def _crowded(rule: FactorRule, index: int, assignment: Assignment) -> str | None:
    """Why sharding this factor is wrong although a local form takes care of it."""
    if not assignment[index]:
        return None
    for dims in rule.tensors:
        for factors in dims:
            if index in factors and (
                factors[0] != index or any(assignment[f] for f in factors if f != index)
            ):
                return f"factor {name(index)} is split and shares a dimension"
    return None


def _in_any(tensors: Sequence[Dims], index: int) -> bool:
    return any(index in dim for dims in tensors for dim in dims)
