"""Which ways to run an operation are worth weighing.

A *wish* is a factor and an axis that should split it; tensors that are laid out somehow wish for the
assignment that leaves them where they are. A choice is built from a list of wishes, first come first served:
a wish that its form could not grant is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shardc.forms.choice import Carried, Choice
from shardc.forms.table import forms_of
from shardc.layout import Axis, Sharding, cut, size_of
from shardc.ops import Trait, has
from shardc.ops.rule import FactorRule
from shardc.planning.program.problem.menu import Wish
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable
from shardc.rules.assign import Assignment, project


def wishes(
    problem: Problem, variable: Variable, layouts: Sequence[Sharding], order: Iterable[int]
) -> tuple[Wish, ...]:
    """The wishes of an operation's tensors (operands, then results), the tensors taken in `order`."""
    return tuple(wish for index in order for wish in _wishes(problem, variable, index, layouts[index]))


def results_first(operands: int, results: int) -> tuple[int, ...]:
    """The order in which what the results wish for is granted before what the operands do."""
    return (*range(operands, operands + results), *range(operands))


def _wishes(problem: Problem, variable: Variable, index: int, layout: Sharding) -> tuple[Wish, ...]:
    """What leaves tensor `index` as it is laid out."""
    key, known = (variable.signature, index, layout), problem.menu.wishes
    if key not in known:
        assert variable.rule is not None
        projected = project(variable.rule.tensors[index], layout, variable.rule).axes
        known[key] = tuple((factor, axis) for factor, axes in projected.items() for axis in axes)
    return known[key]


def laid_out(problem: Problem, variable: Variable) -> frozenset[Wish]:
    """The splits that propagation gave the operation's tensors, and what states how they are split."""
    layouts = tuple(map(problem.laid_out, (*variable.node.operands, *variable.node.results)))
    key = (variable.signature, layouts)
    if key not in problem.menu.splits:
        problem.menu.splits[key] = frozenset(wishes(problem, variable, layouts, range(len(layouts))))
    return problem.menu.splits[key]


def unevenly(rule: FactorRule, assignment: Assignment, known: frozenset[Wish]) -> bool:
    """Whether an assignment splits a factor unevenly that is not split by the same axes already."""
    return any(
        [
            rule.factors[index].size % size_of(axes) and not all((index, axis) in known for axis in axes)
            for index, axes in enumerate(assignment)
            if axes
        ]
    )


def build(
    problem: Problem,
    variable: Variable,
    pairs: tuple[Wish, ...],
    carried: Carried | None = None,
    special: str | None = None,
) -> Choice | None:
    """The choice that grants as many wishes as can be, in order; None if not even none can be granted. One
    that would split a factor unevenly is granted where propagation splits it so.

    `special` as in forms.choice.Ways. Equal questions get the same object.
    """
    known = laid_out(problem, variable)
    key = (variable.signature, pairs, carried, special, known)
    if key not in problem.menu.built:
        problem.menu.built[key] = _build(variable, pairs, carried, special, known)
    return problem.menu.built[key]


def made(layout: Sharding) -> Choice:
    """The choice of an operation that makes a tensor from nothing, each device its block."""
    return Choice((), (layout,), parts=size_of(axis for dim in layout.dims for axis in dim.axes))


def _build(
    variable: Variable,
    pairs: tuple[Wish, ...],
    carried: Carried | None,
    special: str | None,
    known: frozenset[Wish],
) -> Choice | None:
    ways = variable.ways
    assert ways is not None
    taken = list(carried.axes) if carried else []
    assignment: Assignment = ((),) * len(ways.rule.factors)
    best = ways.choose(assignment, carried, special)
    for factor, wanted in pairs:
        axis = cut(wanted, taken)
        if axis is None:
            continue
        tried = tuple((*axes, axis) if f == factor else axes for f, axes in enumerate(assignment))
        if unevenly(ways.rule, tried, known):
            continue
        choice = ways.choose(tried, carried, special)
        if choice is not None:
            best, assignment = choice, tried
            taken.append(axis)
    return best


def candidates(problem: Problem, variable: Variable) -> list[Choice]:
    """The choices worth weighing now, given what the neighbours do; the current one is not among them."""
    if has(variable.node.name, Trait.SOURCE):
        users = [user for value in variable.node.results for user in problem.consumers.get(value, [])]
        return [made(need) for need in dict.fromkeys(v.choice.operands[i] for v, i in users)]
    rule = variable.rule
    if rule is None:
        return []
    around = _Around.of(problem, variable)
    key = (variable.signature, around)
    if key not in problem.menu.asked:
        passing = [None, *_carried(variable, around.given)]
        wish_lists = dict.fromkeys(
            [*_wish_lists(problem, variable, around), *_displaced(problem, variable, around.given)]
        )
        ways = [form.name for form in forms_of(variable.node.name)]
        problem.menu.asked[key] = _distinct(
            build(problem, variable, pairs, carried, way)
            for pairs in wish_lists
            for carried in passing
            for way in ways
        )
    return _others(problem, variable, problem.menu.asked[key])


class _Around(NamedTuple):
    """The layouts around an operation: of its operands as they come, of its results as they are needed, and
    of all of them as propagation has it."""

    given: tuple[Sharding, ...]
    wanted: tuple[Sharding, ...]
    propagated: tuple[Sharding, ...]

    @staticmethod
    def of(problem: Problem, variable: Variable) -> _Around:
        node = variable.node
        return _Around(
            tuple(map(problem.given, node.operands)),
            tuple([_first_need(problem, v) for v in node.results]),
            tuple(map(problem.layout, (*node.operands, *node.results))),
        )


def _distinct(choices: Iterable[Choice | None]) -> list[Choice]:
    return list(dict.fromkeys(choice for choice in choices if choice is not None))


def _others(problem: Problem, variable: Variable, choices: Iterable[Choice]) -> list[Choice]:
    """The choices that may be taken, without the current one."""
    now, admits = variable.choice, problem.admits(variable)
    return [choice for choice in choices if choice is not now and admits(choice)]


def _wish_lists(problem: Problem, variable: Variable, around: _Around) -> Iterator[tuple[Wish, ...]]:
    """Everybody's wishes, in orders that let each tensor be first, and each tensor's alone; last, none."""
    node = variable.node
    count = len(node.operands)
    given, wanted, propagated = around
    mixes = (
        (*given, *wanted),
        propagated,
        (*propagated[:count], *wanted),
        (*given, *propagated[count:]),
    )
    everyone = range(count + len(node.results))
    for layouts in dict.fromkeys(mixes):
        own = [_wishes(problem, variable, i, layout) for i, layout in enumerate(layouts)]
        yield tuple(wish for i in (*everyone[count:], *everyone[:count]) for wish in own[i])
        for first in everyone:
            yield (*own[first], *(wish for i in everyone if i != first for wish in own[i]))
            yield own[first]
    yield ()


def _displaced(problem: Problem, variable: Variable, given: Sequence[Sharding]) -> Iterator[tuple[Wish, ...]]:
    """Axes that an operand comes with and that cannot stay where they are, on every other factor."""
    rule = variable.rule
    assert rule is not None
    own = [wish for i, layout in enumerate(given) for wish in _wishes(problem, variable, i, layout)]
    for factor, axis in dict.fromkeys(own):
        alone = build(problem, variable, ((factor, axis),))
        if alone is None or alone.parts == 1:
            for other in range(len(rule.factors)):
                yield ((other, axis), *own)


def _first_need(problem: Problem, value: int) -> Sharding:
    needs = problem.needs(value)
    return needs[0] if needs else problem.given(value)


def _carried(variable: Variable, given: Sequence[Sharding]) -> Iterator[Carried]:
    """The ways partial operands could flow through: per group, all axes some member is partial over."""
    if not any(layout.unreduced for layout in given):
        return
    for kind, group in variable.flows:
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
