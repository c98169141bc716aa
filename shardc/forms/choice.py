"""Choices: one way to run one operation on the mesh.

An assignment says which axes split which factor; together with a form and, perhaps, partial results that
flow through, it fixes the layout that every operand must have and every result will have.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from shardc.forms.cost import FormCollective, exchanges
from shardc.forms.table import After, Form, forms_of
from shardc.graph import Op
from shardc.layout import Axis, Mesh, Sharding, replicated, shared, size_of
from shardc.ops.rule import FactorRule
from shardc.rules.assign import Assignment, operand_shardings, result_shardings
from shardc.rules.legal import always_legal, legal


class Choice(Struct, frozen=True):
    """Operand i must be laid out as operands[i]; result i comes out as results[i].

    The form itself sends what is in `exchanges`.
    """

    operands: tuple[Sharding, ...]
    results: tuple[Sharding, ...]
    form: str = "plain"
    parts: int | Fraction = 1  # of equal work, as large as what the busiest device has of it
    exchanges: tuple[FormCollective, ...] = ()  # they follow from the rest

    @property
    def moved(self) -> int:
        """Bytes that the form itself sends per device."""
        return sum([each.bytes for each in self.exchanges])

    @property
    def collectives(self) -> int:
        """How many of its own the form has."""
        return len(self.exchanges)


class Carried(Struct, frozen=True):
    """Partial results that flow through: over `axes`, in the operands of `group`, combining by `kind`."""

    axes: tuple[Axis, ...]
    group: frozenset[int]
    kind: str


class Ways:
    """How one operation may run on a mesh, by assignment. What was asked before is remembered: equal
    questions get the same object."""

    def __init__(self, op: Op, rule: FactorRule, mesh: Mesh) -> None:
        self.op, self.rule, self.mesh = op, rule, mesh
        self.forms = tuple((form, form.splits(op, rule)) for form in forms_of(op.name))
        self.splits = frozenset(index for index, factor in enumerate(rule.factors) if factor.is_plain)
        """The factors that some form may split."""
        self.splits = self.splits.union(*(splits for _, splits in self.forms))
        self._easy = always_legal(rule, op)
        self._known: dict[tuple[Assignment, Carried | None, str | None], Choice | None] = {}
        self._laid_out: dict[tuple[Assignment, Carried | None, str], Choice | None] = {}

    def choose(
        self, assignment: Assignment, carried: Carried | None = None, special: str | None = None
    ) -> Choice | None:
        """The first form that can run under `assignment`, with its layouts; None if none can.

        With `special`, only the plain form and the one of that name are tried.
        """
        key = (assignment, carried, special)
        if key not in self._known:
            form = self._first(assignment, special)
            self._known[key] = None if form is None else self._choice(assignment, carried, *form)
        return self._known[key]

    def every(self, assignment: Assignment, carried: Carried | None = None) -> list[Choice]:
        """The choices of all forms that can run where the plain one cannot; else the plain one's."""
        used, found = _used(assignment), list[Choice]()
        for form, splits in self.forms:
            if self._runs(form, splits, assignment, used):
                choice = self._choice(assignment, carried, form, splits)
                if choice is not None:
                    found.append(choice)
                if form.name == "plain":
                    break
        return found

    def _first(self, assignment: Assignment, special: str | None) -> tuple[Form, frozenset[int]] | None:
        """The first form that can run."""
        used = _used(assignment)
        for form, splits in self.forms:
            if special and form.name not in ("plain", special):
                continue
            if self._runs(form, splits, assignment, used):
                return form, splits
        return None

    def _runs(self, form: Form, splits: frozenset[int], assignment: Assignment, used: list[int]) -> bool:
        """Whether a form can run, and another than the plain one splits what only it may."""
        if form.name != "plain" and splits.isdisjoint(used):
            return False
        if all([self._easy[factor] for factor in used]) and _apart(assignment, used):
            return True
        return legal(self.rule, self.op, assignment, allow=splits) is None

    def _choice(
        self, assignment: Assignment, carried: Carried | None, form: Form, splits: frozenset[int]
    ) -> Choice | None:
        key = (assignment, carried, form.name)
        if key not in self._laid_out:
            self._laid_out[key] = _layouts(self.op, self.rule, assignment, self.mesh, form, splits, carried)
        return self._laid_out[key]

    @property
    def size(self) -> int:
        """How many questions are answered."""
        return len(self._laid_out)


def _used(assignment: Assignment) -> list[int]:
    """The factors that are split."""
    return [factor for factor, axes in enumerate(assignment) if axes]


def _apart(assignment: Assignment, used: list[int]) -> bool:
    """Whether the axes of an assignment are different ones, or different parts of one."""
    axes = [axis for factor in used for axis in assignment[factor]]
    if len({axis.name for axis in axes}) == len(axes):
        return True
    return not any(one.overlaps(other) for one, other in combinations(axes, 2))


def ways_of(op: Op, rule: FactorRule, mesh: Mesh) -> Ways:
    """How `op` may run; the same object for equal operations: a program is planned again and again where
    changes of it are tried."""
    key = (op.key(), mesh)
    known = _ways.get(key)
    if known is None or known.rule is not rule:
        if sum(ways.size for ways in _ways.values()) >= KEPT:
            _ways.clear()
        known = _ways[key] = Ways(op, rule, mesh)
    return known


KEPT = 20_000
"""Questions whose answers are kept; beyond, all are forgotten."""

_ways: dict[tuple[object, ...], Ways] = {}


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
    kept = assignment
    if special and form.after is not After.SPLIT:
        kept = tuple(() if f in special else axes for f, axes in enumerate(assignment))
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
        if not axes:
            continue
        devices = size_of(axes)
        if factor.size % devices == 0:
            parts *= devices
        else:
            parts *= Fraction(factor.size, -(-factor.size // devices))
    return parts
