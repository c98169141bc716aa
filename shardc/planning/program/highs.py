"""Integer programs with columns between 0 and 1, solved by HiGHS through scipy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import numpy as np

from shardc.planning.effort import spend
from shardc.planning.solvers import Vector, milp, sparse

Row = tuple[Sequence[tuple[int, float]], float, float]
"""(column, factor) pairs, and the bounds of their sum."""


@dataclass
class Rows:
    """Sums of columns between two bounds: factors, with the row and the column of each."""

    at: list[int] = field(default_factory=list[int])
    columns: list[int] = field(default_factory=list[int])
    factors: list[float] = field(default_factory=list[float])
    low: list[float] = field(default_factory=list[float])
    high: list[float] = field(default_factory=list[float])

    def open(self, count: int, low: float, high: float) -> int:
        """New rows with nothing in them yet; the number of the first."""
        self.low += [low] * count
        self.high += [high] * count
        return len(self.low) - count

    def put(self, at: Sequence[int], columns: Sequence[int], factor: float) -> None:
        """One factor in several places."""
        self.at += at
        self.columns += columns
        self.factors += [factor] * len(columns)

    def and_also(self, *more: Row) -> Rows:
        """These rows and others."""
        both = Rows([*self.at], [*self.columns], [*self.factors], [*self.low], [*self.high])
        for terms, low, high in more:
            at = both.open(1, low, high)
            for column, factor in terms:
                both.put([at], [column], factor)
        return both


COLUMNS = 10_000  # of an integer program that is solved: a second
NODES = 2000  # of the search tree; a count and not a time, so that every machine finds the same
SECONDS = 120.0  # only against a solver that hangs
NEAR = 1e-6  # what is so near to a limit keeps to it


@dataclass(frozen=True)
class Solved:
    """The columns' values, the objective, and a number that no solution's objective is below.

    `whole`: the columns are whole numbers where they must be.
    """

    columns: Vector
    value: float
    bound: float
    whole: bool = True

    @property
    def whole_bound(self) -> int:
        """The bound in whole numbers; where it meets the value within the solver's tolerances, the value."""
        slack = 1e-6 * self.value + 1e-3
        least = self.value if self.value - self.bound <= slack else self.bound - slack
        near = abs(least - round(least)) <= 1e-9 * self.value + 1e-3
        return max(0, round(least) if near else ceil(least))


def minimum(
    costs: Vector,
    rows: Rows,
    integral: Sequence[bool],
    known: Vector | None = None,
    enough: float = inf,
    most: int = COLUMNS,
) -> Solved | None:
    """The columns for which the costs sum to least; None if no solution was found.

    The linear program is solved many times faster than the integer one. Mostly its solution is integral, or
    shows that no whole number is below the value of a solution that is `known`. It is left at that, too, if
    it shows that none is below `enough`, and in programs of more than `most` columns.
    """
    low, high = np.array(rows.low), np.array(rows.high)
    matrix = sparse(rows.factors, rows.at, rows.columns, (len(low), len(costs)))
    spend(matrix.nnz)
    scale = float(costs.max()) or 1.0

    def solved(whole: bool) -> Any:
        return milp(
            costs * (1000 / scale),  # the solver's tolerances are absolute
            integrality=np.array(integral if whole else [False] * len(integral), dtype=int),
            bounds=(0, 1),
            constraints=(matrix, low, high),
            options={"node_limit": NODES, "time_limit": SECONDS, "mip_rel_gap": 0.0},
        )

    result = solved(whole=False)
    if result.x is None:
        return None
    value = float(costs @ result.x)
    relaxed = Solved(np.asarray(result.x), value, value, not any(integral))
    if relaxed.whole or relaxed.whole_bound >= enough:
        return relaxed
    for columns in (_rounded(relaxed.columns, integral), *([] if known is None else [known])):
        placed, best = matrix @ columns, Solved(columns, float(costs @ columns), relaxed.value)
        feasible = np.all(placed >= low - NEAR) and np.all(placed <= high + NEAR)
        if feasible and best.whole_bound >= best.value - NEAR:
            return best
    if len(costs) > most:
        return relaxed
    result = solved(whole=True)
    if result.x is None:
        return None
    columns: Vector = np.asarray(result.x)
    bound = 0.0 if result.mip_dual_bound is None else float(result.mip_dual_bound) * scale / 1000
    return Solved(columns, float(costs @ columns), bound)


def _rounded(columns: Vector, integral: Sequence[bool]) -> Vector:
    return np.where(integral, columns.round(), columns)
