"""Bytes that no plan of a program is below, where the whole is too large for one integer program.

The operations are taken in program order, as many at a time as one linear program can hold: the program of
network.py without its integrality, which seldom matters. Each such window pays for its own forms and
for the copies of the values that it makes. What uses these values later runs, for each of them, as suits
best: so the windows together pay no more than any plan does. Rows that say how copies lead to their users
(cuts.py) are added as long as that raises the bound; without the others it is one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from msgspec.structs import replace

from shardc.layout import LayoutError
from shardc.planning.program.integer.building import part
from shardc.planning.program.integer.choices import Every, every
from shardc.planning.program.integer.highs import minimum, total
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.integer.network import Network
from shardc.planning.program.integer.solver import Row
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Proof, Variable
from shardc.planning.program.search.exact import atoms_of_program, groups_of_program
from shardc.planning.solvers import Vector

ASSIGNMENTS = 10_000  # ways to run all the operations together
WINDOW = 600  # ways to run the operations of one window, about
WORK = 200_000  # columns of all windows together: some seconds; those after count nothing
PATIENCE = 8  # rounds of more rows that raise a window's bound by less than this part of the plan's ticks:
WORTH = 1e-3


def proof(problem: Problem) -> Proof | None:
    """What is proved of the problem's plan, or can be in reasonable time; None if that is nothing."""
    if problem.proof is not None:
        return replace(problem.proof, ticks=min(problem.proof.ticks, problem.total()[0]))
    problem = problem.changed(priced=problem.priced)  # what it remembers is of values that were free
    try:
        groups = groups_of_program(problem)
        choices = every(problem, groups, ASSIGNMENTS)
    except (TooMany, LayoutError):
        return None
    windows, prices = list(_windows(choices)), problem.prices(atoms_of_program(problem, groups))
    most = problem.total()[0]
    ticks = solved = columns = 0
    for window, values in zip(windows, _payers(problem, windows), strict=True):
        if columns > WORK:
            break
        inside = Every({variable: choices.choices[variable] for variable in window}, choices.layouts)
        try:
            net = part(problem, inside, choices.choices, values, prices)
        except TooMany:
            continue
        costs = net.costs()[0]
        lacking = _patiently(net, costs, WORTH * most)
        found = minimum(costs, net.rows, [False] * len(net.integral), presolve=False, lacking=lacking)
        ticks += found.whole_bound if found else 0
        solved, columns = solved + 1, columns + net.size
    return Proof(min(ticks, most), _method(solved))


def _patiently(net: Network, costs: Vector, worth: float) -> Callable[[Vector], list[Row]]:
    """As net.lacking, and nothing more once PATIENCE rounds have raised what solutions cost by less than
    `worth` ticks."""
    best, left = -inf, PATIENCE

    def lacking(columns: Vector) -> list[Row]:
        nonlocal best, left
        value = total(costs, columns)
        best, left = (value, PATIENCE) if value >= best + worth else (best, left - 1)
        return net.lacking(columns) if left > 0 else []

    return lacking


def _method(count: int) -> str:
    return "linear program" if count == 1 else f"{count} linear programs of some operations each"


def _windows(choices: Every) -> Iterator[list[Variable]]:
    """The operations in runs."""
    window: list[Variable] = []
    size = 0
    for variable, options in choices.choices.items():
        if window and size + len(options) > WINDOW:
            yield window
            window, size = [], 0
        window.append(variable)
        size += len(options)
    if window:
        yield window


def _payers(problem: Problem, windows: list[list[Variable]]) -> list[list[int]]:
    """For each window the values it pays for: those it makes, and what is given that it uses first."""
    number = {variable: i for i, window in enumerate(windows) for variable in window}
    values: list[list[int]] = [[] for _ in windows]
    for value in problem.values:
        made = [problem.producer[value]] if value in problem.producer else []
        around = [v for v, _ in [*made, *problem.consumers.get(value, [])] if v in number]
        if around and value not in problem.free:
            values[number[around[0]]].append(value)
    return values
