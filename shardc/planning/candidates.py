"""Which ways to run an operation are worth weighing.

A *wish* is a factor and an axis that should split it; tensors that are laid out somehow wish for the
assignment that leaves them where they are. A choice is built from a list of wishes, first come first served:
a wish that its form could not grant is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from shardc.forms.choice import Carried, Choice, choose
from shardc.graph import Op
from shardc.layout import KINDS, Axis, Mesh, Sharding, cut, size_of
from shardc.planning.problem import CREATION, Problem, Variable
from shardc.rules import FactorRule
from shardc.rules.assign import Assignment, project

Wish = tuple[int, Axis]


def wishes(rule: FactorRule, layouts: Sequence[Sharding], order: Iterable[int]) -> tuple[Wish, ...]:
    """The wishes of an operation's tensors (operands, then results), the tensors taken in `order`."""
    return tuple(
        (factor, axis)
        for index in order
        for factor, axes in project(rule.tensors[index], layouts[index], rule).axes.items()
        for axis in axes
    )


def build(
    variable: Variable, pairs: Sequence[Wish], mesh: Mesh, carried: Carried | None = None
) -> Choice | None:
    """The choice that grants as many wishes as can be, in order; None if not even none can be granted."""
    assert variable.rule is not None
    return _build(_Keyed(variable.op), variable.rule, tuple(pairs), mesh, carried)


def made(layout: Sharding) -> Choice:
    """The choice of an operation that makes a tensor from nothing, each device its block."""
    return Choice((), (layout,), parts=size_of(axis for dim in layout.dims for axis in dim.axes))


class _Keyed:
    """An Op that hashes by its key, for the cache."""

    __slots__ = ("key", "op")

    def __init__(self, op: Op) -> None:
        self.op, self.key = op, op.key()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self.key == other.key


@lru_cache(maxsize=65536)
def _build(
    keyed: _Keyed, rule: FactorRule, pairs: tuple[Wish, ...], mesh: Mesh, carried: Carried | None
) -> Choice | None:
    taken = list(carried.axes) if carried else []
    assignment: Assignment = ((),) * len(rule.factors)
    best = choose(keyed.op, rule, assignment, mesh, carried)
    for factor, wanted in pairs:
        axis = cut(wanted, taken)
        if axis is None:
            continue
        tried = tuple((*axes, axis) if f == factor else axes for f, axes in enumerate(assignment))
        choice = choose(keyed.op, rule, tried, mesh, carried)
        if choice is not None:
            best, assignment = choice, tried
            taken.append(axis)
    return best


def candidates(problem: Problem, variable: Variable) -> list[Choice]:
    """The choices worth weighing now, given what the neighbours do; the current one is not among them."""
    if variable.node.name in CREATION:
        needs = [need for value in variable.node.results for need in problem.needs(value)]
        return [made(need) for need in needs]
    rule = variable.rule
    if rule is None:
        return []
    found = dict.fromkeys(
        choice
        for pairs in _wish_lists(problem, variable, rule)
        for carried in (None, *_carried(problem, variable, rule))
        for choice in (build(variable, pairs, problem.mesh, carried),)
        if choice is not None and choice.parts >= variable.least_parts
    )
    found.pop(variable.choice, None)
    return list(found)


def _wish_lists(problem: Problem, variable: Variable, rule: FactorRule) -> Iterator[tuple[Wish, ...]]:
    node = variable.node
    count = len(node.operands)
    given = [problem.given(v) for v in node.operands]
    wanted = [_first_need(problem, v) for v in node.results]
    propagated = [problem.layout(v) for v in (*node.operands, *node.results)]
    everyone = range(count + len(node.results))
    for layouts in (
        [*given, *wanted],
        propagated,
        [*propagated[:count], *wanted],
        [*given, *propagated[count:]],
    ):
        yield wishes(rule, layouts, (*everyone[count:], *everyone[:count]))
        for first in everyone:
            yield wishes(rule, layouts, (first, *(i for i in everyone if i != first)))
            yield wishes(rule, layouts, (first,))
    yield ()


def _first_need(problem: Problem, value: int) -> Sharding:
    needs = problem.needs(value)
    return needs[0] if needs else problem.given(value)


def _carried(problem: Problem, variable: Variable, rule: FactorRule) -> Iterator[Carried]:
    """The ways partial operands could flow through: per group, all axes some member is partial over."""
    given = [problem.given(v) for v in variable.node.operands]
    for kind in KINDS:
        for group, _ in rule.flows(kind):
            members = [given[i] for i in sorted(group) if given[i].unreduced and given[i].kind == kind]
            for axes in dict.fromkeys(_axis_sets(members)):
                yield Carried(axes, group, kind)


def _axis_sets(members: Sequence[Sharding]) -> Iterator[tuple[Axis, ...]]:
    """All unreduced axes together, and each member's own."""
    together: list[Axis] = []
    for member in members:
        for axis in member.unreduced:
            rest = cut(axis, together)
            if rest == axis:
                together.append(axis)
        yield member.unreduced
    if together:
        yield tuple(together)
