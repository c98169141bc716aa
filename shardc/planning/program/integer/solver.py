"""HiGHS through its own package, with types; it is imported only when asked.

One thread: the same program is solved alike on any machine, a process may fork afterwards, and what HiGHS
would do at once takes no processor time of others. No limit in seconds: of one, presolve takes a hundredth
for dependent equations, and on a busy machine another of equally good solutions was found for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.planning.program.integer.basis import Basis
from shardc.planning.solvers import Vector

ITERATIONS = 150_000_000  # of the simplex method, times columns, in one linear program with what follows;
# of some 200 programs one took more than 70 million, and then it ended in no plan at 400
NODES = 2000  # of the search tree; a count and not a time, so that every machine finds the same
FEASIBLE = 2  # HiGHS's kSolutionStatusFeasible

Numbers = NDArray[np.int32]

Row = tuple[Sequence[tuple[int, float]], float, float]
"""(column, factor) pairs, and the bounds of their sum."""


class Sums(Struct, frozen=True):
    """Sums of columns that lie between `low` and `high`, row by row.

    Of each factor the row and the column: `at`, `columns`; `starts`: of each row, and where the last ends.
    """

    at: Numbers
    columns: Numbers
    factors: Vector
    starts: Numbers
    low: Vector
    high: Vector

    @staticmethod
    def of(
        at: NDArray[np.int64],
        columns: NDArray[np.int64],
        factors: Vector,
        low: Vector,
        high: Vector,
        width: int,
    ) -> Sums:
        """Of factors in any order; those of one row and column are added."""
        places = at * width + columns
        order = np.argsort(places, kind="stable")  # they come nearly sorted
        places = places[order]
        first = np.flatnonzero(np.diff(places, prepend=-1))
        places, added = places[first], factors[order]
        if len(first) < len(added):
            added = np.add.reduceat(added, first)
        rows, where = (part.astype(np.int32) for part in np.divmod(places, width))
        starts = np.searchsorted(rows, np.arange(len(low) + 1)).astype(np.int32)
        return Sums(rows, where, added, starts, low, high)

    def hold(self, values: Vector, near: float) -> bool:
        """Whether the sums of these values keep to their bounds, or are so near."""
        sums = np.bincount(self.at, self.factors * values[self.columns], len(self.low))
        return bool(np.all(sums >= self.low - near) and np.all(sums <= self.high + near))


class Found(Struct, frozen=True):
    """Values of the columns, and a number that no solution's objective is below, found in so many `steps` of
    the simplex method; of a linear program what is found `further` on from this solution with more rows, and,
    before that is asked, its basis and by how much less each column would have to cost to be used, `reduced`.
    """

    columns: Vector
    bound: float
    reduced: Callable[[], Vector]
    further: Callable[[Sequence[Row]], Found | None]
    basis: Callable[[], Basis]
    steps: int


def solve(
    costs: Vector,
    sums: Sums,
    integral: Sequence[bool] | None,
    start: Basis | None = None,
    presolve: bool = True,
    only: NDArray[np.bool_] | None = None,
    most: int = ITERATIONS,
) -> Found | None:
    """The columns between 0 and 1 for which costs sum to least, or the best found; None if none was, or a
    linear program takes more than `most` steps of the simplex method, times columns.

    `integral` says which are whole numbers; None for a linear program, which begins at `start`. Of an integer
    one all columns but those in `only` are zero. What `presolve` takes out of a linear program takes it
    longer than the simplex method needs with it, but of equally good solutions another is found.
    """
    import highspy as untyped

    highspy: Any = untyped
    highs: Any = highspy.Highs()
    for option, value in _OPTIONS.items():
        highs.setOptionValue(option, value)
    _pass(highspy, highs, costs, sums, integral)
    if only is not None:
        off = np.flatnonzero(~only).astype(np.int32)
        highs.changeColsBounds(len(off), off, np.zeros(len(off)), np.zeros(len(off)))
    left = min(ITERATIONS, most) // max(1, len(costs))
    if integral is None:
        highs.setOptionValue("simplex_iteration_limit", left)
        if not presolve:
            highs.setOptionValue("presolve", "off")
    if start is not None:
        highs.setBasis(_basis(highspy, start))
    if highs.run() == highspy.HighsStatus.kError:  # somebody else in this process let it have more threads
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()
    return _found(highspy, highs, integral is None, sums.low == -np.inf, left)


def _found(highspy: Any, highs: Any, linear: bool, open_below: NDArray[np.bool_], left: int) -> Found | None:
    """What HiGHS has found, of rows some of which have no lower bound, in so many steps that were left."""
    info = highs.getInfo()
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    if not optimal and (linear or info.primal_solution_status != FEASIBLE):
        return None
    columns = _vector(highs.getSolution().col_value)
    bound = info.objective_function_value if linear else info.mip_dual_bound
    taken: int = info.simplex_iteration_count

    def further(rows: Sequence[Row]) -> Found | None:
        starts = np.cumsum([0, *(len(terms) for terms, _, _ in rows)]).astype(np.int32)
        places = np.array([place for terms, _, _ in rows for place, _ in terms], np.int32)
        factors = np.array([factor for terms, _, _ in rows for _, factor in terms], np.float64)
        low, high = (np.array([row[end] for row in rows], np.float64) for end in (1, 2))
        highs.addRows(len(rows), low, high, len(places), starts[:-1], places, factors)
        more = max(0, left - taken)
        highs.setOptionValue("simplex_iteration_limit", more)
        highs.run()
        return _found(highspy, highs, linear, np.concatenate([open_below, low == -np.inf]), more)

    def reduced() -> Vector:
        return _vector(highs.getSolution().col_dual)

    def basis() -> Basis:
        _, basic = highs.getBasicVariables()
        return Basis.of(np.asarray(basic), columns, open_below)

    return Found(columns, float(bound), reduced, further, basis, taken)


def _vector(numbers: list[float]) -> Vector:
    return np.fromiter(numbers, np.float64, len(numbers))


_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "mip_max_nodes": NODES,
    "mip_rel_gap": 0.0,
}


def _basis(highspy: Any, start: Basis) -> Any:
    """It may have too few or too many basic ones, or dependent ones: HiGHS then changes some."""
    basis = highspy.HighsBasis()
    kinds = [highspy.HighsBasisStatus(number) for number in range(5)]
    basis.col_status = [kinds[number] for number in start.columns.tolist()]
    basis.row_status = [kinds[number] for number in start.rows.tolist()]
    basis.valid = basis.alien = True
    return basis


def _pass(highspy: Any, highs: Any, costs: Vector, sums: Sums, integral: Sequence[bool] | None) -> None:
    """As arrays: HiGHS's own records take them number by number."""
    width, height, zeros = len(costs), len(sums.low), np.zeros(len(costs))
    kinds = np.zeros(width, np.int32) if integral is None else np.array(integral, np.int32)
    bounds = zeros, np.ones(width), sums.low, sums.high
    matrix = sums.starts, sums.columns, sums.factors
    form, least = int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize)
    highs.passModel(width, height, len(sums.factors), form, least, 0.0, costs, *bounds, *matrix, kinds)
