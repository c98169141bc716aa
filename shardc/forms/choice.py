"""Choices: one way to run one operation on the mesh.

An assignment says which axes split which factor; together with a form and, perhaps, partial results that
flow through, it fixes the layout that every operand must have and every result will have.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from shardc.forms.cost import FormCollective, exchanges
from shardc.forms.table import After, Form, forms_of
from shardc.graph import Op
from shardc.layout import Axis, Mesh, Sharding, replicated, shared, size_of
from shardc.ops.rule import FactorRule
from shardc.rules.assign import Assignment, legal, operand_shardings, result_shardings


@dataclass(frozen=True, slots=True)
class Choice:
    """Operand i must be laid out as operands[i]; result i comes out as results[i].

    The form itself sends `moved` bytes per device, in `exchanges`.
    """

    operands: tuple[Sharding, ...]
    results: tuple[Sharding, ...]
    form: str = "plain"
    parts: int | Fraction = 1  # of equal work, as large as what the busiest device has of it
    exchanges: tuple[FormCollective, ...] = field(default=(), compare=False)  # they follow from the rest
    moved: int = field(init=False)
    collectives: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "moved", sum(each.bytes for each in self.exchanges))
        object.__setattr__(self, "collectives", len(self.exchanges))


@dataclass(frozen=True, slots=True)
class Carried:
    """Partial results that flow through: over `axes`, in the operands of `group`, combining by `kind`."""

    axes: tuple[Axis, ...]
    group: frozenset[int]
    kind: str


def choose(
    op: Op,
    rule: FactorRule,
    assignment: Assignment,
    mesh: Mesh,
    carried: Carried | None = None,
    special: str | None = None,
) -> Choice | None:
    """The first form of `op` that can run under `assignment`, with its layouts; None if none can.

    With `special`, only the plain form and the one of that name are tried. The same question gets the same
    object: a program is planned again and again where changes of it are tried.
    """
    key = (op.key(), assignment, mesh, carried, special)
    known = _known.get(key)
    if known is None or known[0] is not rule:
        if len(_known) >= KEPT:
            _known.clear()
        known = _known[key] = rule, _first(op, rule, assignment, mesh, carried, special)
    return known[1]


KEPT = 20_000
"""Questions whose answers are kept; beyond, all are forgotten."""

_known: dict[tuple[object, ...], tuple[FactorRule, Choice | None]] = {}


def _first(
    op: Op,
    rule: FactorRule,
    assignment: Assignment,
    mesh: Mesh,
    carried: Carried | None,
    special: str | None,
) -> Choice | None:
    for form in forms_of(op.name):
        if special and form.name not in ("plain", special):
            continue
        splits = form.splits(op, rule)
        wanted = form.name == "plain" or any(assignment[f] for f in splits)
        if wanted and legal(rule, op, assignment, allow=splits) is None:
            return _layouts(op, rule, assignment, mesh, form, splits, carried)
    return None


def replicated_choice(op: Op, mesh: Mesh) -> Choice:
    """Everything whole everywhere: how an operation without a rule runs."""
    whole = [tuple(replicated(mesh, t.rank) for t in types) for types in (op.operands, op.results)]
    return Choice(whole[0], whole[1])


def _layouts(
    op: Op,
    rule: FactorRule,
    assignment: Assignment,
    mesh: Mesh,
    form: Form,
    special: frozenset[int],
    carried: Carried | None,
) -> Choice | None:
    ended = special if form.after is not After.SPLIT else frozenset[int]()
    kept = tuple(() if f in ended else axes for f, axes in enumerate(assignment))
    flow = (carried.axes, carried.group, carried.kind) if carried else ((), None, "sum")
    try:
        operands = operand_shardings(rule, assignment, mesh, *flow)
        results = result_shardings(rule, kept, mesh, *flow)
    except ValueError:
        return None  # partial results of two kinds
    if form.after is After.PARTIAL:
        lost = tuple(axis for f in sorted(special) for axis in assignment[f])
        kind = "max" if op.results[0].dtype == "bool" else "sum"  # zeros elsewhere
        if any(r.unreduced and r.kind != kind for r in results):
            return None
        results = tuple(replace(r, unreduced=r.unreduced + lost, kind=kind) for r in results)
    parts = _parts(rule, assignment)
    sent = () if form.name == "plain" else exchanges(form.build, op, operands, results)
    return Choice(tuple(map(shared, operands)), tuple(map(shared, results)), form.name, parts, sent)


def _parts(rule: FactorRule, assignment: Assignment) -> int | Fraction:
    """Into how many the work is divided: 6 heads over 4 devices, two on the busiest, are 3 parts."""
    parts: int | Fraction = 1
    for factor, axes in zip(rule.factors, assignment, strict=True):
        devices = size_of(axes)
        if factor.size % devices == 0:
            parts *= devices
        else:
            parts *= Fraction(factor.size, -(-factor.size // devices))
    return parts
