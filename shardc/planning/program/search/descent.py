"""Finding better choices by single operations, each given the others' choices.

It stops at the first plan that no one operation can improve. Integer programs (exact.py) find what only
several operations together gain. Deterministic: program order, first best wins.
"""

from __future__ import annotations

from shardc.forms.choice import replicated_choice
from shardc.planning.program.problem.candidates import candidates
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.setup import made_from_constants
from shardc.planning.program.problem.variables import Variable
from shardc.planning.program.search.cheapest import cheapest

SWEEPS = 8


def follow(problem: Problem) -> None:
    """Let what is made from constants be made as its consumer needs it, last things first.

    What devices would send parts of for that (of a concatenation) each makes whole, and takes its block.
    What several consumers use is made as is cheapest.
    """
    derived = made_from_constants(problem)
    for variable in reversed(problem.variables):
        if derived.issuperset(variable.node.results) and problem.open(variable):
            _single(problem, variable)
        if len(variable.node.results) == 1 and variable.node.results[0] in problem.free:
            need = problem.given(variable.node.results[0])
            choices = (variable.choice, *candidates(problem, variable))
            options = [choice for choice in choices if choice.results == (need,)]
            found = cheapest(problem, variable, options)
            if found is not None and found.collectives:
                found = replicated_choice(variable.op, problem.mesh)
                problem.free.remove(variable.node.results[0])
            variable.choice = found or variable.choice
    problem.free.clear()


def settle(problem: Problem) -> None:
    """Improve single operations, forwards and backwards, until none can be improved.

    An operation is looked at again where it or one that it shares a value with has changed since.
    """
    due = {variable for variable in problem.variables if problem.open(variable)}
    for sweep in range(SWEEPS):
        for variable in problem.variables if sweep % 2 == 0 else problem.variables[::-1]:
            if variable in due:
                due.remove(variable)
                if _single(problem, variable):
                    due.update(other for other in problem.around(variable) if problem.open(other))
        if not due:
            return


def _single(problem: Problem, variable: Variable) -> bool:
    """Give one operation its best choice under the others' choices; whether that changed it."""
    best = cheapest(problem, variable, [variable.choice, *candidates(problem, variable)])
    changed = best is not None and best is not variable.choice
    variable.choice = best or variable.choice
    return changed
