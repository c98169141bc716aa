"""Plans proved best: the whole graph weighed at once, as an integer program (network.py).

The optimum is left only for its collectives, if it has more than the best plan in propagation's own layouts
and takes more than three quarters of the time. Larger programs are first solved without integrality, which
proves most plans best. Deterministic: sizes decide what is solved, never time.
"""

from __future__ import annotations

from enum import Enum, auto
from math import inf

from shardc.analysis.manual import AxisNames
from shardc.graph import TensorType
from shardc.layout import LayoutError, Sharding
from shardc.layout.difference import pieces
from shardc.planning.program.integer.building import network
from shardc.planning.program.integer.choices import Every, every
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.integer.network import Network
from shardc.planning.program.integer.solve import RELAXED, SMALL, take_cheapest, taken
from shardc.planning.program.integer.solver import ITERATIONS
from shardc.planning.program.integer.together import Groups, groups_of
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Proof
from shardc.planning.program.search.descent import settle
from shardc.planning.program.search.preference import refuse, takes, worth
from shardc.planning.reshard.distances import FEW
from shardc.planning.reshard.runs import AxisAtoms, atoms_for

ROUNDS = 3  # of solving with few collectives and pricing what that uses
PAIRS = 5  # for each column, of layouts on meshes of many axes: priced in about as long as a column is solved
LATE = (
    20_000_000  # steps of one linear program, times columns, with latency: those of more rarely end in a plan
)
ASSIGNMENTS = 4_000  # ways to run all the operations together; more would take too many columns
ALONG = 150  # operations: with latency more are planned along one of several axes after the other at once


class Reached(Enum):
    """What is known of a plan: it is the best, of what the linear program nearly uses, or neither."""

    BEST = auto()
    NEARLY = auto()
    NOT = auto()


def perfect(problem: Problem) -> Reached:
    """Change the problem's choices for those of the best plan, if it is small enough to be solved."""
    before = problem.total()
    if before[:2] == (0, 0):
        problem.proof = Proof(0, "nothing is sent")
        return Reached.BEST
    net = whole(problem, before[0])
    if net is None:
        return Reached.NOT
    if problem.modest is not None and worth(problem, problem.modest, before):
        problem.modest = before
    kept = taken(net)
    solved = take_cheapest(net, steps=ITERATIONS if problem.rates.flat else LATE)
    if solved is None:
        return Reached.NOT
    kind = "integer" if solved.whole else "linear"
    problem.proof = Proof(solved.ticks, f"{kind} program of {solved.net.size} columns")
    after = problem.total()
    if not takes(problem, after):
        refuse(problem, after)
        kept.take(problem)
        columns, few = solved.net.size, (problem.modest or before)[1]
        rounds = ROUNDS if columns <= SMALL else 1
        begun = solved.at_most(few)
        if begun is None or not solved.none_below(before[0], begun):
            take_cheapest(solved.net, few, rounds * columns, begun=begun)
    elif after < before:
        settle(problem)
    if solved.whole or solved.ticks >= before[0]:
        return Reached.BEST
    return Reached.NEARLY if solved.nearly else Reached.NOT


def whole(problem: Problem, limit: float = inf) -> Network | None:
    """The program of all open operations, for plans of up to `limit` ticks; None if it is too large."""
    try:
        groups = groups_of_program(problem)
        if not problem.rates.flat and len(problem.variables) > ALONG and len(groups.apart()) > 1:
            return None
        choices = every(problem, groups, ASSIGNMENTS)
        prices, pairs = problem.prices(atoms_of_program(problem, groups)), PAIRS * RELAXED
        if len(prices.atoms) > FEW and _pairs(problem, choices) > pairs:
            return None
        net = network(problem, choices, prices, limit, RELAXED, pairs=pairs)
    except (TooMany, LayoutError):  # or axes are cut into parts that have no common pieces
        return None
    return net if net.size <= RELAXED else None


def _pairs(problem: Problem, every: Every) -> int:
    """How many pairs of layouts such a program would price, or fewer: seen without pricing one."""
    counted = dict[tuple[TensorType, AxisNames, frozenset[Sharding]], int]()
    for value, (maker, index) in problem.producer.items():
        places = {choice.results[index] for choice in every.choices.get(maker, ())}
        needed = {
            choice.operands[at]
            for user, at in problem.consumers.get(value, [])
            for choice in every.choices.get(user, ())
        }
        if value not in problem.free and len(places) > 1 < len(needed):
            key = problem.graph.type(value), problem.context(value).manual, frozenset(places | needed)
            counted[key] = len(places | needed) ** 2
    return sum(counted.values())


def groups_of_program(problem: Problem) -> Groups:
    """The mesh axes as layouts cut them, each with those that it always stands with."""
    mesh = problem.mesh
    shardings = [*map(problem.layout, problem.values)]
    for variable in problem.variables:
        shardings += [*variable.choice.operands, *variable.choice.results]
    used = [axis for sharding in dict.fromkeys(shardings) for axis in sharding.axes()]
    return groups_of(problem, pieces(mesh, [axis for axis in (*mesh.several, *used) if axis.size > 1]))


def atoms_of_program(problem: Problem, groups: Groups) -> AxisAtoms:
    """The groups, as fine as reshards may cut them, for prices."""
    return atoms_for(groups.each, (problem.graph.type(v).rank for v in problem.values))
