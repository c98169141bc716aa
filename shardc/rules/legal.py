"""Under which assignments every device may run an operation itself, on its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

from shardc.graph.program import Op
from shardc.layout import Axis, size_of
from shardc.ops.rule import Dims, FactorRule, Kind, name
from shardc.rules.assign import Assignment


def legal(
    rule: FactorRule, op: Op, assignment: Assignment, allow: frozenset[int] = frozenset()
) -> str | None:
    """None if running `op` itself on every device's blocks is right under `assignment`, else why not.

    Factors in `allow` may be split whatever their kind and into any number of parts, where they are alone in
    splitting their dimensions: a local form takes care of them.

    Sharding a REDUCTION factor unevenly is legal, but the padding must then hold zeros, or what the reduction
    ignores: `masked` (assign.py) says where.
    """
    used = [factor for factor, axes in enumerate(assignment) if axes]
    unfit = (_unfit(rule, f, assignment[f]) for f in used if f not in allow)
    shared = (
        _crowded(rule, f, assignment) if f in allow else _misplaced(rule, op, f, assignment) for f in used
    )
    return _used_twice(assignment) or next(filter(None, chain(unfit, shared)), None)


def always_legal(rule: FactorRule, op: Op) -> tuple[bool, ...]:
    """For each factor whether it may be split whichever others are, over axes that split nothing else, into
    any number of parts: it is the only one of its dimensions."""
    tensors = list(zip(rule.tensors, op.operands + op.results, strict=True))
    return tuple(
        _never(rule, index) is None
        and all(
            factors == (index,) and length == rule.factors[index].size
            for dims, type in tensors
            for factors, length in zip(dims, type.shape, strict=True)
            if index in factors
        )
        for index in range(len(rule.factors))
    )


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
    reason = _never(rule, index)
    if reason is None:
        return None
    return f"factor {name(index)} is split over {', '.join(map(str, axes))}, but {reason}"


def _never(rule: FactorRule, index: int) -> str | None:
    """Why a factor must not be split, over whichever axes."""
    factor = rule.factors[index]
    if factor.kind is Kind.REDUCTION and rule.reduction is None:
        return "its partial results have no combination that an all-reduce knows"
    if not factor.is_plain:
        need = {
            Kind.PASS: "needs indices or edges adjusted on every device",
            Kind.REDUCTION: "needs indices or windows adjusted on every device",
            Kind.REPLICATE: "must be whole on every device",
            Kind.PERMUTATION: "needs data of other devices",
        }
        return need[factor.kind]
    has = [any(index in dim for dim in dims) for dims in rule.results]
    if factor.kind is Kind.PASS and _in_any(rule.operands, index) and not all(has):
        return "is not in every result"
    return None


def _misplaced(rule: FactorRule, op: Op, index: int, assignment: Assignment) -> str | None:
    """Why sharding this factor is wrong in some dimension that it shares, or that it doesn't divide."""
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
    for dims in rule.tensors:
        for factors in dims:
            if index in factors and (
                factors[0] != index or any(assignment[f] for f in factors if f != index)
            ):
                return f"factor {name(index)} is split and shares a dimension"
    return None


def _in_any(tensors: Sequence[Dims], index: int) -> bool:
    return any(index in dim for dims in tensors for dim in dims)
