"""Plans proved best: the whole graph weighed at once, as an integer program (network.py).

Reshards are priced by a table of lower bounds first. Where the plan that a solution says costs more than the
solution, those that it uses are priced exactly, and the program is solved again. The optimum is left only for
its collectives, if it has more than the best plan in propagation's own layouts and takes more than three
quarters of the time. Larger programs are first solved without integrality, which proves most plans best.
Deterministic: sizes decide what is solved, never time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from shardc.forms.choice import Choice
from shardc.layout import LayoutError, Sharding
from shardc.layout.difference import pieces
from shardc.planning.program.building import again, network
from shardc.planning.program.choices import TooMany, every
from shardc.planning.program.descent import settle
from shardc.planning.program.highs import COLUMNS, Row, Vector, minimum
from shardc.planning.program.network import Network
from shardc.planning.program.nothing_cheaper import nothing_cheaper
from shardc.planning.program.prices import Prices
from shardc.planning.program.problem import Problem
from shardc.planning.program.variables import Proof, Slot, Total, Variable
from shardc.planning.reshard.distances import AxisAtoms, atoms_for

SMALL = 4_000  # columns of an integer program that is always solved: half a second
RELAXED = 40_000  # of all the linear programs that are solved: a second or two
TIES = 1_000  # of one in which what equally quick plans take is compared: real sizes have few of them
ASSIGNMENTS = 4_000  # ways to run all the operations together; more would take too many columns
ROUNDS = 3  # of solving with few collectives and pricing what that uses
SWEEPS = 4  # over the operations, to choose among plans of equal cost


@dataclass(frozen=True)
class Chosen:
    """How every operation runs, and the layout of what loops carry."""

    choices: dict[Variable, Choice]
    layouts: dict[Slot, Sharding]

    def take(self, problem: Problem) -> None:
        """Make it the problem's plan."""
        for slot, layout in self.layouts.items():
            problem.carry(slot, layout)
        for variable, choice in self.choices.items():
            variable.choice = choice


@dataclass(frozen=True)
class Optimum:
    """What is proved, by which program, and whether that program was solved and not only bounded."""

    proof: Proof
    net: Network
    whole: bool


def perfect(problem: Problem) -> bool:
    """Change the problem's choices for those of the best plan, if it is small enough to be solved.

    Whether it is, or the plan at hand is proved best.
    """
    before = problem.total()
    if before[:2] == (0, 0):
        problem.proof = Proof(0, "nothing is sent")
        return True
    net = whole(problem, before[0])
    if net is None:
        return False
    if problem.modest is not None and problem.worth(problem.modest, before):
        problem.modest = before
    if problem.takes(before) and len(net.integral) <= SMALL and nothing_cheaper(net, before):
        problem.proof = Proof(before[0], f"integer program of {len(net.integral)} columns")
        return True
    kept = _taken(net)
    solved = _take_cheapest(net, kept, before)
    if solved is None:
        return False
    problem.proof, after = solved.proof, problem.total()
    if not problem.takes(after):
        problem.refuse(after)
        _take_fewer(solved.net, after, before, kept)
    elif after < before:
        settle(problem)
    else:
        kept.take(problem)
    return solved.whole or solved.proof.ticks >= before[0]


def _take_fewer(net: Network, more: Total, before: Total, kept: Chosen) -> None:
    """Take the best plan with no more collectives than the one that the cheapest, of `more`, is held against.

    In a large program: what its relaxation says, if that may be quicker. If there is none, the plan that was
    `kept`, of the total `before`.
    """
    problem = net.problem
    fewer = problem.modest or before
    small = len(net.integral) <= SMALL
    integral = net.integral if small else [False] * len(net.integral)
    for _ in range(ROUNDS if small else 1):
        if more[1] <= fewer[1] or fewer[0] <= more[0]:
            break
        moved, count = net.costs()
        found = minimum(moved, [*net.rows, _at_most(count, fewer[1])], integral)
        if found is None or found.whole_bound >= fewer[0]:
            break
        more = _apply(problem, net, _chosen(net, found.columns), kept)
        if problem.takes(more):
            if not more < before:
                kept.take(problem)
            return
        if not net.settle(found.columns):
            break
    kept.take(problem)


def whole(problem: Problem, limit: float = inf) -> Network | None:
    """The program of all open operations, for plans of up to `limit` ticks; None if it is too large."""
    try:
        atoms, finer = atoms_of_program(problem)
        choices = every(problem, atoms, ASSIGNMENTS)
    except (TooMany, LayoutError):  # or axes are cut into parts that have no common pieces
        return None
    net = network(problem, choices, Prices(finer, problem.rates), limit, RELAXED)
    return net if len(net.integral) <= RELAXED else None


def atoms_of_program(problem: Problem) -> tuple[AxisAtoms, AxisAtoms]:
    """The mesh axes as layouts cut them, for choices; and as fine as reshards may cut them, for prices."""
    mesh = problem.mesh
    shardings = [*map(problem.layout, problem.values)]
    for variable in problem.variables:
        shardings += [*variable.choice.operands, *variable.choice.results]
    used = [axis for sharding in dict.fromkeys(shardings) for axis in sharding.axes()]
    coarse = pieces(mesh, [*(mesh.axis(name) for name, size in mesh.axes if size > 1), *used])
    return coarse, atoms_for(mesh, used, (problem.graph.type(v).rank for v in problem.values))


def _take_cheapest(net: Network, kept: Chosen, before: Total) -> Optimum | None:
    """Take the plan of the fewest ticks, then collectives; what is proved of it.

    Of equally good choices those that were `kept`. A large program is not solved whole if there is nothing
    to gain `before` it. None if there is no solution.
    """
    problem, bound, whole = net.problem, 0, False
    best: tuple[Total, Chosen] | None = None
    enough = before[0] if len(net.integral) > SMALL else inf
    most = SMALL if problem.expected else COLUMNS
    solved = 0
    while len(net.integral) <= RELAXED - solved:
        solved += len(net.integral)
        moved, count = net.costs()
        least = minimum(moved, net.rows, net.integral, enough=enough, most=most)
        if least is None:
            break
        bound, whole = max(bound, least.whole_bound), least.whole
        columns = least.columns
        equal = [columns]
        if whole and (problem.rates.free or len(net.integral) <= TIES):
            ties = [_at_most(moved, least.value + 1e-6 * least.value + 1e-3)]
            wanted = count if problem.rates.free else net.effort()
            fewest = minimum(wanted, [*net.rows, *ties], net.integral, columns)
            columns = fewest.columns if fewest else columns
            equal = [columns] if problem.rates.free else [*equal, columns]
        for each in equal:
            found = _apply(problem, net, _chosen(net, each), kept)
            if best is None or found < best[0]:
                best = found, _taken(net)
        assert best is not None
        cheapest = best[0][0] <= bound and (not problem.rates.free or best[0][1] <= count @ columns)
        if cheapest or bound >= enough or not net.settle(columns):
            break
        net = again(net)
    if best is None:
        return None
    best[1].take(problem)
    kind = "integer" if whole else "linear"
    return Optimum(Proof(bound, f"{kind} program of {len(net.integral)} columns"), net, whole)


def _taken(net: Network) -> Chosen:
    """The plan at hand."""
    return Chosen({v: v.choice for v in net.options}, {slot: slot.layout() for slot in net.problem.slots})


def _chosen(net: Network, columns: Vector) -> Chosen:
    layouts = net.layouts(columns)
    return Chosen(
        net.choices(columns), {s: layouts[s.args[0]] for s in net.problem.slots if s.args[0] in layouts}
    )


def _at_most(costs: Vector, limit: float) -> Row:
    return [(int(column), float(costs[column])) for column in np.flatnonzero(costs)], -inf, limit


def _apply(problem: Problem, net: Network, chosen: Chosen, kept: Chosen) -> Total:
    """Take a plan, and of equally good choices those that were `kept`, then those of less work."""
    chosen.take(problem)
    for _ in range(SWEEPS):
        changed = [
            variable
            for variable, options in net.options.items()
            if _settle(problem, variable, [kept.choices[variable], *options])
        ]
        if not changed:
            break
    return problem.total()


def _settle(problem: Problem, variable: Variable, options: list[Choice]) -> bool:
    """Give an operation its best choice with no more bytes and no more collectives; whether that changed it.

    Only choices are tried for which no copy need be made that is not there.
    """
    node, now = variable.node, variable.choice
    had = [{*problem.needs(v), problem.given(v)} for v in node.operands]
    made = [{*problem.needs(v), problem.given(v)} for v in node.results]
    best, least = now, problem.cost([variable])
    start = least
    for choice in options:
        if all(map(set[Sharding].__contains__, [*had, *made], [*choice.operands, *choice.results])):
            variable.choice = choice
            cost = problem.cost([variable])
            if cost[0] <= start[0] and cost[1] <= start[1] and cost < least:
                best, least = choice, cost
    variable.choice = best
    return best is not now
