"""Which of two plans of a program is preferred.

On a machine without latency one with more collectives has to pay for them: a plan that a person expects is
not given up for a small gain.
"""

from __future__ import annotations

from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Total


def worth(problem: Problem, before: Total, after: Total) -> bool:
    """Whether another plan is cheaper, and by enough for the collectives that it takes."""
    return after < before and _pays(problem, before, after)


def better(problem: Problem, before: Total, after: Total) -> bool:
    """Whether another plan is to be preferred: it is worth it, or has fewer collectives, and that before does
    not pay for its own."""
    return _pays(problem, before, after) if after < before else not _pays(problem, after, before)


def takes(problem: Problem, plan: Total) -> bool:
    """Whether a plan pays for having more collectives than the best one in propagation's own layouts."""
    return problem.modest is None or _pays(problem, problem.modest, plan)


def refuse(problem: Problem, other: Total) -> None:
    """Remember a plan that is left for its collectives."""
    problem.refused = min(problem.refused or other, other)


def _pays(problem: Problem, before: Total, after: Total) -> bool:
    """Whether a plan that takes more collectives on a machine without latency takes three quarters of the
    time at most, for communication and for work that is done twice."""
    if not problem.rates.flat or after[1] <= before[1]:
        return True
    return 4 * (after[0] - after[5]) <= 3 * (before[0] - before[5])
