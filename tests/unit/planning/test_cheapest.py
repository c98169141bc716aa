"""The best of some ways to run one operation: what is left out as too dear is never the best."""

from __future__ import annotations

import pytest

from shardc.forms.choice import Choice
from shardc.planning.machines import load
from shardc.planning.program import plan_program
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.candidates import candidates
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Total, Variable
from shardc.planning.program.search.cheapest import cheapest
from tests.unit.planning.test_known import propagated

PROGRAM = """mesh m [x=4, y=2]

def main(a: f32[64@x, 32], b: f32[32, 128@y], c: f32[128@y, 64]) -> f32[64, 64@x]:
    h = tanh(a @ b)
    return (h @ c) * 2.0 + sum(a, axis=1, keepdims=True)
"""


def cost(problem: Problem, variable: Variable, choice: Choice) -> Total:
    """Of the operation and all that it touches, with the choice."""
    kept, variable.choice = variable.choice, choice
    found = problem.cost([variable])
    variable.choice = kept
    return found


@pytest.mark.parametrize("machine", ["balanced", "h100-infiniband", "bytes"])
def test_it_costs_the_least_of_all(machine: str) -> None:
    problem = plan_program(propagated(PROGRAM), machine=load(machine)).problem
    weighed = 0
    for variable in filter(problem.open, problem.variables):
        options = [variable.choice, *candidates(problem, variable)]
        weighed += len(options)
        best = cheapest(problem, variable, options)
        assert best is not None
        assert cost(problem, variable, best)[:5] == min(cost(problem, variable, c)[:5] for c in options)
    assert weighed > 20


def test_what_is_too_dear_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """To gather all of a tensor takes more than the choice at hand, as its bytes say."""
    problem = plan_program(propagated(PROGRAM)).problem
    for known in (problem.valued, problem.own, problem.owns):
        known.clear()
    asked = list[object]()
    copies = Rates.copies
    monkeypatch.setattr(Rates, "copies", lambda *given: asked.append(given[1:]) or copies(*given))
    weighed = 0
    for variable in filter(problem.open, problem.variables):
        options = [variable.choice, *candidates(problem, variable)]
        weighed += len(options) * len(problem.ends(variable))
        cheapest(problem, variable, options)
    assert len(asked) < weighed / 10, (len(asked), weighed)
