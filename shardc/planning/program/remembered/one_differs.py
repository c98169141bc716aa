"""Plans of programs in which one layer differs from all others.

What that program would be if the layer were like the others (all_alike.py) is planned first, or found in the
cache: it is the same whatever differs. Its plan is then the whole program's, but for the operations around
what differs: those that have no equal in it, as far as planning looks (repeats.py). They are weighed given
how the others run, along one mesh axis after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from shardc.forms.choice import Choice
from shardc.graph import Graph
from shardc.ops import sdy
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.setup import setup
from shardc.planning.program.problem.variables import Variable
from shardc.planning.program.remembered.all_alike import all_alike
from shardc.planning.program.search.by_axis import by_axis
from shardc.planning.program.search.descent import follow, settle
from shardc.planning.program.search.improve import SavedChoices
from shardc.planning.program.search.preference import worth
from shardc.planning.program.search.repeats import repeats_of


class Recalled(Struct, frozen=True):
    """The choices of a program's operations that were found before, in order, with that of its end; and
    whether its results leave it as was stated."""

    choices: Sequence[Choice]
    as_stated: bool


def improve_one_differs(
    problem: Problem, find: Callable[[Problem], None], recall: Callable[[Graph], Recalled | None]
) -> bool:
    """Change the problem's choices for those of a good plan, if one layer differs from all others: then True.

    find: takes a plan of the program in which none does. recall: gives what that took before, if it is known.
    """
    alike = all_alike(problem.graph)
    if alike is None:
        return False
    found = recall(alike.graph) or _found(setup(alike.graph, alike.graph.main, problem.rates), find)
    if not found.as_stated:  # results that were open leave main otherwise
        return False
    nodes = [node for node in alike.graph.main.body.nodes if node.name != sdy.sharding_group.name]
    choices = {node.id: choice for node, choice in zip(nodes[:-1], found.choices[:-1], strict=True)}
    known = {node: choices[other] for node, other in alike.stands.items() if other in choices}
    stays = {node for node, other in alike.stands.items() if node == other}
    repeats = repeats_of(problem)
    if repeats is None:
        _weigh(problem, {v: [v] for v in problem.variables}, known, stays)
    else:
        members: dict[Variable, list[Variable]] = {}
        for member, variable in repeats.class_of.items():
            members.setdefault(variable, []).append(member)
        _weigh(repeats.problem, members, known, stays)
        repeats.write_back()
    follow(problem)
    return True


def _found(like: Problem, find: Callable[[Problem], None]) -> Recalled:
    *_, end = like.variables
    stated = end.choice
    find(like)
    return Recalled([variable.choice for variable in like.variables], end.choice == stated)


def _weigh(
    problem: Problem,
    members: Mapping[Variable, list[Variable]],
    known: Mapping[int, Choice],
    stays: set[int],
) -> None:
    """Give operations the choices that are known of their members, and the best ones to those of which no
    member `stays`; of plans with more collectives only one that pays for them, as for the others."""
    given: list[Variable] = []
    for variable in filter(problem.open, problem.variables):
        ids = sorted(
            (v.node.id for v in members[variable] if v.node.id in known), key=lambda i: i not in stays
        )
        if ids:
            variable.choice = known[ids[0]]
            given += [variable] if ids[0] in stays else []
    for variable in given:
        variable.fixed = True
    settle(problem)
    own = SavedChoices(problem)
    by_axis(problem, few=True)
    settle(problem)
    if not worth(problem, own.cost, problem.total()):
        own.restore()
    for variable in given:
        variable.fixed = False
