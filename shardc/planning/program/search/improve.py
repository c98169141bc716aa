"""Good choices for a whole program: without latency in propagation's own layouts first, then in any.

The first integer program has few ways to run an operation, since results stay as propagation lays them out
or are partial sums of that: it is solved for programs of a thousand operations. From its plan the second one
goes on, of all layouts. Where that is too large, the first is solved again in the layouts that propagation
would find if data came before state (data_first.py), and the better of the two plans is improved along one
mesh axis after the other (by_axis.py). With latency a search begins at the quicker of what these lead to.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.search.by_axis import ENOUGH, by_axis
from shardc.planning.program.search.data_first import data_before_state
from shardc.planning.program.search.descent import follow, settle
from shardc.planning.program.search.exact import Reached, perfect
from shardc.planning.program.search.open_results import argument_layouts, split_results
from shardc.planning.program.search.preference import better, refuse, takes, worth
from shardc.planning.program.search.repeats import repeats_of
from shardc.planning.program.search.saved import SavedChoices


def improve(problem: Problem) -> None:
    """Change the problem's choices for cheaper ones: without latency from the best plan in propagation's own
    layouts on, else from that at hand."""
    repeats = repeats_of(problem)
    if repeats is None:
        _improve(problem)
    else:
        _improve(repeats.problem)
        repeats.write_back()
        problem.refused = repeats.problem.refused
    follow(problem)


def _improve(problem: Problem) -> None:
    if problem.rates.flat:
        _stay(problem)
    search(problem)
    layouts = argument_layouts(problem)
    if layouts:
        before = SavedChoices(problem)
        split_results(problem, layouts)
        _stay(problem)
        search(problem)
        if not worth(problem, before.cost, problem.total()):
            before.restore()


def _stay(problem: Problem) -> None:
    """The best plan in propagation's own layouts."""
    with _frugal(problem):
        _in_layouts(problem, strict=problem.rates.free)


def search(problem: Problem) -> None:
    """From the best plan in propagation's own layouts to the best one, or one found axis by axis.

    Where one found so has too many collectives for what it gains, single operations improve the first plan.
    """
    if problem.rates.free:
        settle(problem)
    if problem.rates.flat:
        problem.modest = problem.modest or problem.total()
    own = SavedChoices(problem)
    reached = perfect(problem)
    if reached is Reached.BEST and _dearer(problem):
        reached = Reached.NEARLY
    if reached is not Reached.BEST:
        stays = reached is Reached.NEARLY or not problem.rates.flat
        own = SavedChoices(problem) if stays else _data_first(problem)
        with _over_whole_axes(problem):
            by_axis(problem)
            settle(problem)
        if not takes(problem, problem.total()):
            refuse(problem, problem.total())
            own.restore()
            with _frugal(problem):
                settle(problem)
            if not takes(problem, problem.total()):
                own.restore()
    # where something is sent, a few elements of work are no reason to leave propagation's layouts
    told = 2 if own.cost[1] else 4
    if not problem.rates.free and problem.total()[:told] >= own.cost[:told]:
        own.proof = problem.proof
        own.restore()


def _dearer(problem: Problem) -> bool:
    """Whether the plan that a solution says takes so much longer than it that another may be quicker: copies
    of a value are made that send the least, which with latency are not those that take the least time."""
    latency, proof = not problem.rates.flat, problem.proof
    return latency and proof is not None and proof.ticks < ENOUGH * problem.total()[0]


@contextmanager
def _over_whole_axes(problem: Problem) -> Generator[None]:
    """With latency changes of layout are those over whole axes: what these take is known without a search."""
    rates, priced = problem.rates, problem.priced
    if rates.flat or rates.lean:
        yield
        return
    problem.rates, problem.priced, problem.valued = rates.over_whole_axes(), {}, {}
    yield
    problem.rates, problem.priced, problem.valued = rates, priced, {}


@contextmanager
def _frugal(problem: Problem) -> Generator[None]:
    """On `balanced` a collective more has to save what one takes on average."""
    total, rates = problem.total(), problem.rates
    if rates.flat and not rates.free:
        problem.toll = (total[0] - total[5]) // max(1, total[1])
    yield
    problem.toll = 0


def _in_layouts(problem: Problem, strict: bool) -> None:
    """Take the best plan in propagation's own layouts."""
    modest, problem.modest, problem.proof, problem.expected = problem.modest, None, None, True
    problem.strict = strict
    settle(problem)
    perfect(problem)
    if problem.proof is None and not strict:  # there are too many such plans
        problem.strict = True
        perfect(problem)
    problem.strict = False
    problem.modest, problem.expected, problem.proof = modest, False, None


def _data_first(problem: Problem) -> SavedChoices:
    """Take the best plan in the layouts that data before state leads to, if it is better than that at hand;
    what is taken."""
    first = SavedChoices(problem)
    with data_before_state(problem) as others:
        if not others:
            return first
        with _frugal(problem):
            settle(problem)
            _in_layouts(problem, strict=False)
            settle(problem)
    found = problem.total()
    if not better(problem, first.cost, found):
        first.restore()
        return first
    if problem.modest is not None and better(problem, problem.modest, found):
        problem.modest = found
    return SavedChoices(problem)
