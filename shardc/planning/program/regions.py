"""Changing a region: one operation runs in another way, and its neighbours follow as far as they gain.

Sequence-split attention wants its heads split in between (Ulysses): no operation alone gains from that, since
the tensor before it and the one after it would be exchanged at once. So the operations around the costliest
copies are changed one by one, the change is followed outwards, and the region is kept if it is cheaper.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from shardc.forms.choice import Choice
from shardc.ops import Trait, has
from shardc.planning.program.candidates import candidates, forced_candidates
from shardc.planning.program.cheapest import cheapest
from shardc.planning.program.problem import Problem, Variable

COSTLY = 12  # values whose copies are looked at, costliest first
REACH = 48  # operations that may follow one change


def change_regions(problem: Problem) -> bool:
    """Try other regions around the costliest copies; whether one was kept."""
    costs = {value: problem.value_cost(value) for value in problem.values}
    costly = sorted((value for value in costs if costs[value][0]), key=lambda v: (-costs[v][0], v))[:COSTLY]
    changed = False
    for variable in dict.fromkeys(v for value in costly for v in _around(problem, value)):
        for choice in dict.fromkeys([*candidates(problem, variable), *forced_candidates(problem, variable)]):
            if any(_try(problem, variable, choice, reaction) for reaction in (_gaining, _following)):
                changed = True
                break
    return changed


def _around(problem: Problem, value: int) -> Iterator[Variable]:
    """The operations that make or use a value and have a choice."""
    made = [problem.producer[value][0]] if value in problem.producer else []
    for variable in [*made, *(variable for variable, _ in problem.consumers.get(value, []))]:
        if problem.open(variable):
            yield variable


Changed = dict[Variable, Choice]
"""The operations that have changed, each with its choice before."""

Reaction = Callable[[Problem, Variable, Changed], Choice]
"""What a neighbour of changed operations does."""


def _gaining(problem: Problem, variable: Variable, changed: Changed) -> Choice:
    """Follow where that costs no more."""
    return cheapest(problem, variable, _followers_first(problem, variable, changed)) or variable.choice


def _following(problem: Problem, variable: Variable, changed: Changed) -> Choice:
    """Follow at any cost, up to the next product: what is in between is cheap only if all of it follows."""
    if has(variable.node.name, Trait.PRODUCT):
        return _gaining(problem, variable, changed)
    return _followers_first(problem, variable, changed)[0]


def _try(problem: Problem, variable: Variable, choice: Choice, reaction: Reaction) -> bool:
    """Give an operation `choice` and let its neighbours follow; undone unless it is cheaper."""
    before: Changed = {variable: variable.choice}
    variable.choice = choice
    queue = deque(_neighbours(problem, variable))
    while queue and len(before) < REACH:
        other = queue.popleft()
        if other in before:
            continue
        best = reaction(problem, other, before)
        if best == other.choice:
            continue
        before[other] = other.choice
        other.choice = best
        queue.extend(_neighbours(problem, other))
    changed = list(before)
    after = problem.cost(changed)
    chosen = [other.choice for other in changed]
    for other, old in before.items():
        other.choice = old
    if not problem.worth(problem.cost(changed), after):
        return False
    for other, new in zip(changed, chosen, strict=True):
        other.choice = new
    return True


def _followers_first(problem: Problem, variable: Variable, changed: Changed) -> list[Choice]:
    """An operation's choices, those first that fit the changed operations around it."""
    node, graph = variable.node, problem.graph
    operands = [
        (i, problem.given(v), graph.type(v).size)
        for i, v in enumerate(node.operands)
        if v in problem.producer and problem.producer[v][0] in changed
    ]
    results = [
        (i, user.choice.operands[j], graph.type(v).size)
        for i, v in enumerate(node.results)
        for user, j in problem.consumers.get(v, [])
        if user in changed
    ]

    def fit(choice: Choice) -> int:
        taken = sum(size for i, layout, size in operands if choice.operands[i] == layout)
        return taken + sum(size for i, layout, size in results if choice.results[i] == layout)

    return sorted([variable.choice, *candidates(problem, variable)], key=lambda choice: -fit(choice))


def _neighbours(problem: Problem, variable: Variable) -> Iterator[Variable]:
    """The operations next to one, users first."""
    for value in variable.node.results:
        yield from (v for v in _around(problem, value) if v is not variable)
    for value in variable.node.operands:
        yield from (v for v in _around(problem, value) if v is not variable)
