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

from shardc.planning.program.basis import Basis
from shardc.planning.solvers import Vector

ITERATIONS = 400_000_000  # of the simplex method, times columns, in one linear program: some seconds
NODES = 2000  # of the search tree; a count and not a time, so that every machine finds the same
FEASIBLE = 2  # HiGHS's kSolutionStatusFeasible

Numbers = NDArray[np.int32]


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
    """Values of the columns, and a number that no solution's objective is below; of a linear program by how
    much less each column would have to cost to be used, what the objective is `below` a limit on one sum
    more, looked for from this solution on (None if there is none), and, before that is asked, its basis."""

    columns: Vector
    bound: float
    reduced: Vector
    below: Callable[[Vector, float], float | None]
    basis: Callable[[], Basis]


def solve(
    costs: Vector,
    sums: Sums,
    integral: Sequence[bool] | None,
    start: Basis | None = None,
    presolve: bool = True,
    only: NDArray[np.bool_] | None = None,
) -> Found | None:
    """The columns between 0 and 1 for which costs sum to least, or the best found; None if none was, or a
    linear program takes more than ITERATIONS allow.

    `integral` says which are whole numbers; None for a linear program, which begins at `start`. Of an integer
    one all columns but those in `only` are zero. What `presolve` takes out of a linear program takes it
    longer than the simplex method needs with it, but of equally good solutions another is found.
    """
    import highspy as untyped

    highspy: Any = untyped
    highs: Any = highspy.Highs()
    for option, value in _OPTIONS.items():
        highs.setOptionValue(option, value)
    highs.passModel(_model(highspy, costs, sums, integral))
    if only is not None:
        off = np.flatnonzero(~only).astype(np.int32)
        highs.changeColsBounds(len(off), off, np.zeros(len(off)), np.zeros(len(off)))
    if integral is None:
        highs.setOptionValue("simplex_iteration_limit", ITERATIONS // max(1, len(costs)))
        if not presolve:
            highs.setOptionValue("presolve", "off")
    if start is not None:
        highs.setBasis(_basis(highspy, start))
    if highs.run() == highspy.HighsStatus.kError:  # somebody else in this process let it have more threads
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()
    info = highs.getInfo()
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    if not optimal and (integral is None or info.primal_solution_status != FEASIBLE):
        return None
    solution = highs.getSolution()
    columns, reduced = (np.array(each, np.float64) for each in (solution.col_value, solution.col_dual))
    bound = info.objective_function_value if integral is None else info.mip_dual_bound

    def below(sum: Vector, limit: float) -> float | None:
        places = np.flatnonzero(sum).astype(np.int32)
        highs.addRow(-highspy.kHighsInf, limit, len(places), places, sum[places])
        highs.run()
        optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return float(highs.getInfo().objective_function_value) if optimal else None

    def basis() -> Basis:
        _, basic = highs.getBasicVariables()
        return Basis.of(np.asarray(basic), columns, sums.low == -np.inf)

    return Found(columns, float(bound), reduced, below, basis)


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


def _model(highspy: Any, costs: Vector, sums: Sums, integral: Sequence[bool] | None) -> Any:
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(costs), len(sums.low)
    model.col_cost_, model.col_lower_, model.col_upper_ = costs, np.zeros(len(costs)), np.ones(len(costs))
    model.row_lower_, model.row_upper_ = sums.low, sums.high
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.num_col_, matrix.num_row_ = len(costs), len(sums.low)
    matrix.start_, matrix.index_, matrix.value_ = sums.starts, sums.columns, sums.factors
    if integral is not None:
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        model.integrality_ = [kinds[whole] for whole in integral]
    return model
