"""Choices: one way to run one operation on the mesh.

An assignment says which axes split which factor; together with a form and, perhaps, partial results that
flow through, it fixes the layout that every operand must have and every result will have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shardc.forms.table import After, Form, forms_of, plain_bars
from shardc.graph import Op
from shardc.layout import Axis, Dim, Mesh, Sharding, size_of
from shardc.rules import FactorRule, Kind
from shardc.rules.assign import Assignment, legal, operand_shardings, result_shardings


@dataclass(frozen=True, slots=True)
class Choice:
    """Operand i must be laid out as operands[i]; result i comes out as results[i]."""

    operands: tuple[Sharding, ...]
    results: tuple[Sharding, ...]
    form: str = "plain"
    parts: int = 1  # into how many the work is divided


@dataclass(frozen=True, slots=True)
class Carried:
    """Partial results that flow through: over `axes`, in the operands of `group`, combining by `kind`."""

    axes: tuple[Axis, ...]
    group: frozenset[int]
    kind: str = "sum"
    result_kind: str = "sum"


def choose(
    op: Op, rule: FactorRule, assignment: Assignment, mesh: Mesh, carried: Carried | None = None
) -> Choice | None:
    """The first form of `op` that can run under `assignment`, with its layouts; None if none can."""
    for form in forms_of(op.name):
        special = form.splits(op, rule)
        if form.name == "plain" and _touches(assignment, plain_bars(op, rule)):
            continue
        if form.name != "plain" and not _touches(assignment, special):
            continue
        if legal(rule, op, assignment, allow=special) is None:
            return _layouts(rule, assignment, mesh, form, special, carried)
    return None


def replicated_choice(op: Op, mesh: Mesh) -> Choice:
    """Everything whole everywhere: how an operation without a rule runs."""
    whole = [tuple(Sharding(mesh, (Dim(),) * t.rank) for t in types) for types in (op.operands, op.results)]
    return Choice(whole[0], whole[1])


def _layouts(
    rule: FactorRule,
    assignment: Assignment,
    mesh: Mesh,
    form: Form,
    special: frozenset[int],
    carried: Carried | None,
) -> Choice:
    operands = list(operand_shardings(rule, assignment, mesh))
    ended = special if form.after is not After.SPLIT else frozenset[int]()
    kept = tuple(() if f in ended else axes for f, axes in enumerate(assignment))
    results = list(result_shardings(rule, kept, mesh))
    reduced = _reduced_axes(rule, kept)
    if reduced and rule.reduction == "sum":
        for index in _once(rule):
            operands[index] = replace(operands[index], unreduced=reduced)
    if form.after is After.PARTIAL:
        lost = tuple(axis for f in sorted(special) for axis in assignment[f])
        results = [replace(r, unreduced=r.unreduced + lost) for r in results]
    if carried:
        for index in carried.group:
            unreduced = operands[index].unreduced + carried.axes
            operands[index] = replace(operands[index], unreduced=unreduced, kind=carried.kind)
        results = [
            replace(r, unreduced=r.unreduced + carried.axes, kind=carried.result_kind) for r in results
        ]
    parts = size_of(axis for axes in assignment for axis in axes)
    return Choice(tuple(operands), tuple(results), form.name, parts)


def _reduced_axes(rule: FactorRule, assignment: Assignment) -> tuple[Axis, ...]:
    pairs = zip(rule.factors, assignment, strict=True)
    return tuple(axis for factor, axes in pairs if factor.kind is Kind.REDUCTION for axis in axes)


def _once(rule: FactorRule) -> Sequence[int]:
    """Operands that a sharded reduction would count once per device: a reduce's init, scatter-add's table.

    They are jointly linear with an operand that holds a reduced factor, and hold none themselves.
    """

    def holds(index: int) -> bool:
        return any(rule.factors[f].kind is Kind.REDUCTION for dim in rule.operands[index] for f in dim)

    return sorted(i for group in rule.linear if any(map(holds, group)) for i in group if not holds(i))


def _touches(assignment: Assignment, factors: frozenset[int]) -> bool:
    return any(assignment[f] for f in factors)
