"""Plans proved best: the whole graph weighed at once, as an integer program (network.py).

The search by single moves (descent.py) is compared with the optimum. Where the optimum has fewer
bytes it is taken, unless it takes more collectives and does not save a quarter of the bytes; then the optimum
among the plans with no more collectives than the search found is. Reshards are priced by a table of lower
bounds first; those that a solution uses are then priced exactly, and the program is solved again until it
uses none that is not. Larger programs are first solved without integrality, which proves most plans best.
Deterministic: sizes decide what is solved, never time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from shardc.forms.choice import Choice
from shardc.layout import LayoutError, Sharding
from shardc.layout.difference import pieces
from shardc.planning.program.choices import TooMany, every
from shardc.planning.program.highs import Row, Vector, minimum
from shardc.planning.program.network import Network, network
from shardc.planning.program.nothing_cheaper import nothing_cheaper
from shardc.planning.program.prices import Prices
from shardc.planning.program.problem import Problem, Proof, Slot, Total, Variable
from shardc.planning.reshard.distances import AxisAtoms, atoms_for

SMALL = 8_000  # columns of an integer program that is always solved: half a second
COLUMNS = 20_000  # of one that is solved if the linear program says that something can be gained: seconds
RELAXED = 40_000  # of a linear program: a second or two
ASSIGNMENTS = 4_000  # ways to run all the operations together; more would take too many columns
ROUNDS = 8  # times that prices are corrected
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


def perfect(problem: Problem) -> None:
    """Change the problem's choices for those of the best plan, if it is small enough to be proved best."""
    before = problem.total()
    if before[:2] == (0, 0):
        problem.proof = Proof(0, "nothing is sent")
        return
    net = whole(problem, before[0])
    if net is None:
        return
    size = len(net.integral)
    if size > SMALL:
        relaxed = minimum(net.costs()[0], net.rows, [False] * size)
        if relaxed is None:
            return
        problem.proof = Proof(min(before[0], relaxed.whole_bound), f"linear program of {size} columns")
        if relaxed.whole_bound >= before[0] or size > COLUMNS:
            return
    elif nothing_cheaper(net, before):
        problem.proof = Proof(before[0], f"integer program of {size} columns")
        return
    found = _cheapest(net)
    if found is None:
        return
    best, bound = found
    problem.proof = Proof(bound, f"integer program of {size} columns")
    kept = Chosen({v: v.choice for v in net.options}, {slot: slot.layout() for slot in problem.slots})
    after = _apply(problem, net, best, kept)
    if problem.rates.flat and after[1] > before[1] and after < before:
        kept.take(problem)
        fewer = _cheapest(net, before[1])
        modest = _apply(problem, net, fewer[0], kept) if fewer else before
        if not modest <= before:
            kept.take(problem)
            modest = before
        if problem.worth(modest, after):
            _apply(problem, net, best, kept)
        else:
            problem.refuse(after)
    elif not after < before:
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


def _cheapest(net: Network, most: int | None = None) -> tuple[Chosen, int] | None:
    """The choices with the fewest ticks, then collectives, and the ticks that no plan is below.

    With `most`, only plans of at most that many collectives count. None if there is no solution.
    """
    bound, found = 0, None
    for _ in range(ROUNDS):
        moved, count = net.costs()
        limits = [] if most is None else [_at_most(count, most)]
        least = minimum(moved, [*net.rows, *limits], net.integral)
        if least is None:
            break
        bound = max(bound, least.whole_bound)
        solved = least
        if net.problem.rates.free:
            ties = [*limits, _at_most(moved, least.value + 1e-6 * least.value + 1e-3)]
            solved = minimum(count, [*net.rows, *ties], net.integral, least.columns) or least
        found = _chosen(net, solved.columns), bound
        if not net.settle(solved.columns):
            break
    return found


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
