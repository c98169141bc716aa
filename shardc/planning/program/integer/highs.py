"""Integer programs with columns between 0 and 1, solved by HiGHS, which is imported only when asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, inf

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from shardc.planning.effort import Allowance, spend
from shardc.planning.program.integer.basis import Basis, Parts
from shardc.planning.program.integer.solver import ITERATIONS, Found, Row, Sums, solve
from shardc.planning.solvers import Vector

Numbers = NDArray[np.int64]


class Rows(Struct):
    """Sums of columns between two bounds: factors, with the row and the column of each."""

    at: list[int] = []
    columns: list[int] = []
    factors: list[float] = []
    low: list[float] = []
    high: list[float] = []
    ranges: list[tuple[Numbers, Numbers, float]] = []
    """More of them: rows, as many columns, and one factor."""
    parts: Parts = field(default_factory=Parts)

    def open(self, count: int, low: float, high: float, codes: Numbers | None = None) -> int:
        """New rows with nothing in them yet; the number of the first. `codes`: basis.py."""
        self.parts.open(len(self.low), codes)
        self.low += [low] * count
        self.high += [high] * count
        return len(self.low) - count

    def put(self, at: Sequence[int], columns: Sequence[int], factor: float) -> None:
        """One factor in several places."""
        self.at += at
        self.columns += columns
        self.factors += [factor] * len(columns)

    def put_range(self, at: Numbers, columns: range | Numbers, factor: float) -> None:
        """One factor in as many places as there are columns."""
        if isinstance(columns, range):
            columns = np.arange(columns.start, columns.stop)
        self.ranges.append((at, columns, factor))

    def sums(self, width: int) -> Sums:
        """The sums of `width` columns."""
        lengths = [len(at) for at, _, _ in self.ranges]
        more = np.repeat(np.array([factor for _, _, factor in self.ranges], np.float64), lengths)
        at = np.concatenate([np.array(self.at, np.int64), *[at for at, _, _ in self.ranges]])
        columns = np.concatenate([np.array(self.columns, np.int64), *[each for _, each, _ in self.ranges]])
        factors = np.concatenate([np.array(self.factors, np.float64), more])
        return Sums.of(at, columns, factors, np.array(self.low), np.array(self.high), width)

    def and_also(self, *more: Row) -> Rows:
        """These rows and others."""
        parts = Parts([*self.parts.starts], {**self.parts.codes})
        bounds = [*self.low], [*self.high]
        both = Rows([*self.at], [*self.columns], [*self.factors], *bounds, [*self.ranges], parts)
        both.add(more)
        return both

    def add(self, more: Sequence[Row]) -> None:
        """Have others, too."""
        for terms, low, high in more:
            self.at += [self.open(1, low, high)] * len(terms)
            self.columns += [column for column, _ in terms]
            self.factors += [factor for _, factor in terms]


WHOLE = 1_500  # columns of an integer program that is solved: a tenth of a second; 4,000 may take six
COLUMNS = 10_000  # of one that is solved of those columns that the linear one nearly uses
NEARLY = 1e-3  # of the objective: what a column would have to cost less
NEAR = 1e-6  # what is so near to a limit keeps to it
STEPS = 20  # of an integer program, times columns, that take as long as an entry of a linear one


class Solved(Struct, frozen=True):
    """The columns' values, the objective, and a number that no solution's objective is below.

    Without integrality a column is used once it costs `reduced` less, the solution is that of `basis`, and
    `further` goes on from it (solver.Found).
    `whole`: the columns are whole numbers where they must be. `nearly`: they are, too, but only those were
    looked at that the linear program's solution uses or might use soon, or lacking rows are violated.
    """

    columns: Vector
    value: float
    bound: float
    reduced: Vector
    basis: Callable[[], Basis]
    whole: bool = True
    nearly: bool = False
    further: Callable[[Sequence[Row]], Found | None] = lambda rows: None

    @property
    def whole_bound(self) -> int:
        """The bound in whole numbers; where it meets the value within the solver's tolerances, the value."""
        return _whole(self.value, self.bound)


def total(costs: Vector, columns: Vector) -> float:
    """What columns cost. A product of more than 10,000 numbers is one of BLAS on all processors, whose
    threads then wait for more, each for 30 ms of its time; its last bits depend on how many there are.
    """
    return float(np.add.reduce(costs * columns))


def least(costs: Vector, found: Found) -> int:
    """What no whole number is below that has these costs, by the linear program in which this was found."""
    value = total(costs, found.columns)
    return _whole(value, value)


def _whole(value: float, bound: float) -> int:
    slack = 1e-6 * value + 1e-3
    least = value if value - bound <= slack else bound - slack
    near = abs(least - round(least)) <= 1e-9 * value + 1e-3
    return max(0, round(least) if near else ceil(least))


def _nothing(columns: Vector) -> list[Row]:
    return []


class Limits(Struct, frozen=True):
    """What a solution is looked for with. It is left at the linear program's where that shows that no whole
    number is below `enough`, or where nothing is left of the `allowance` of integer programs. The columns
    count as `size`, if they are fewer: of up to WHOLE whole numbers are found for all, of up to `most` for
    those that the linear solution uses or nearly does, of more for those that it uses. A linear program takes
    so many `steps` (solver.solve).
    """

    enough: float = inf
    size: int = 0
    most: int = COLUMNS
    steps: int = ITERATIONS
    allowance: Allowance = field(default_factory=Allowance)


def minimum(
    costs: Vector,
    rows: Rows,
    integral: Sequence[bool],
    limits: Limits | None = None,
    known: Vector | None = None,
    also: Sequence[Row] = (),
    unsure: Callable[[Solved], bool] | None = None,
    lacking: Callable[[Vector], list[Row]] = _nothing,
    start: Basis | None = None,
    presolve: bool = True,
    begun: Found | None = None,
) -> Solved | None:
    """The columns for which the costs sum to least, with these rows and `also` others; None if no solution
    was found.

    The linear program is solved many times faster than the integer one. Mostly its solution is integral, or
    shows that no whole number is below the value of a solution that is `known`. It is left at that, too, by
    the limits, and where it is `unsure`. To what a solution violates `lacking` adds rows and says which, and
    another is found, unless one shows that none is below enough. Where whole numbers are found for some
    columns only, that is mostly a good plan, but the bound stays that of the linear program. That begins at
    `start`, with `presolve` as of solve; it is not solved where its solution is known, with which all has
    `begun`.
    """

    def all_sums() -> Sums:
        return (rows.and_also(*also) if also else rows).sums(len(costs))

    limits = limits or Limits()
    sums, size, allowed, enough = all_sums(), max(limits.size, len(costs)), limits.allowance, limits.enough
    spend(len(sums.factors))
    scale = float(costs.max()) or 1.0
    scaled = costs * (1000 / scale)  # the solver's tolerances are absolute
    result = begun or solve(scaled, sums, None, start, presolve, most=limits.steps)
    while result is not None and least(costs, result) < enough and (more := lacking(result.columns)):
        result = result.further(more)
    if result is None:
        return None
    value = total(costs, result.columns)
    reduced = result.reduced() * (scale / 1000)
    basis, further = result.basis, result.further
    relaxed = Solved(result.columns, value, value, reduced, basis, not any(integral), further=further)
    if relaxed.whole or relaxed.whole_bound >= enough:
        return relaxed
    for columns in (_rounded(relaxed.columns, integral), *([] if known is None else [known])):
        best = Solved(columns, total(costs, columns), relaxed.value, reduced, basis, further=further)
        if sums.hold(columns, NEAR) and best.whole_bound >= best.value - NEAR and not lacking(columns):
            return best
    if (unsure is not None and unsure(relaxed)) or allowed.steps <= 0:
        return relaxed
    near, few = None, size <= limits.most
    if size > WHOLE:
        near = (relaxed.columns > NEAR) | (reduced <= (NEARLY * value if few else -inf))
    count = len(costs) if near is None else int(near.sum())
    violated = True
    while violated and allowed.steps > 0:
        result = solve(scaled, all_sums(), integral, only=near)
        if result is None:
            return None if near is None else relaxed
        allowed.steps -= count * result.steps
        spend(count * result.steps // STEPS)
        violated = bool(lacking(result.columns))
    if near is not None:
        return replace(relaxed, columns=result.columns, nearly=few)
    value, bound = total(costs, result.columns), result.bound * (scale / 1000)
    return Solved(result.columns, value, bound, reduced, basis, not violated, violated, further)


def _rounded(columns: Vector, integral: Sequence[bool]) -> Vector:
    return np.where(integral, columns.round(), columns)
