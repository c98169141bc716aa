"""A problem as it is set up, for several plans.

On a machine with latency a program is planned several times, by prices that differ in what is counted on to
be combined. Operations, and what may be chosen, are the same.
"""

from __future__ import annotations

from msgspec import Struct

from shardc.analysis.manual import regions
from shardc.analysis.phases import BETWEEN, Context, phases
from shardc.forms.choice import Choice
from shardc.graph import Function
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.problem import Problem


class Begun(Struct):
    """The problem of a function in which nothing has been chosen yet. Plans share its operations, so nothing
    is asked of one once the next one is looked for."""

    function: Function
    problem: Problem
    choices: list[Choice]

    @staticmethod
    def of(function: Function, problem: Problem) -> Begun:
        """A problem that was just set up, to come back to."""
        kept = problem.changed(free={*problem.free}, arguments={**problem.arguments})
        return Begun(function, kept, [variable.choice for variable in problem.variables])

    def anew(self, rates: Rates) -> Problem:
        """The problem by other rates on the same machine and mesh."""
        begun = self.problem
        for variable, choice in zip(begun.variables, self.choices, strict=True):
            variable.told = ()  # that others remember of another plan
            variable.choice = choice
        contexts = contexts_of(self.function, rates)
        return begun.changed(
            rates=rates, contexts=contexts, weighed={}, free={*begun.free}, arguments={**begun.arguments}
        )


def contexts_of(function: Function, rates: Rates) -> dict[int, Context]:
    """What is around the values of a function, where it matters: in per-device code, and everywhere if
    collectives of some phase are priced apart."""
    apart = any(share.phase for share in rates.combined)
    known, found = dict[Context, Context](), dict[int, Context]()
    for region, names in regions(function.body):
        for value, phase in phases(region).items() if names or apart else ():
            context = Context(names, phase if apart else BETWEEN)
            found[value] = known.setdefault(context, context)
    return found
