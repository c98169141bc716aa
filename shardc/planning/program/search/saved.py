"""All choices of a problem, kept to come back to."""

from __future__ import annotations

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable


class SavedChoices:
    """All choices of a problem, to come back to."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.cost, self.proof = problem, problem.total(), problem.proof
        self.choices: dict[Variable, Choice] = {v: v.choice for v in problem.variables}
        self.arguments: dict[int, tuple[Sharding, int]] = dict(problem.arguments)

    def restore(self) -> None:
        """Make the choices the current ones again."""
        self.problem.arguments, self.problem.proof = dict(self.arguments), self.proof
        for variable, choice in self.choices.items():
            variable.choice = choice
