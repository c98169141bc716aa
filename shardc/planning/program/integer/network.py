"""The planning problem as an integer program.

A column for each (operation, choice): 1 if the operation runs that way; others for the layouts of what loops
carry, and for copies of values (building.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from shardc.analysis.phases import Context
from shardc.forms.choice import Choice
from shardc.graph import TensorType
from shardc.layout import Sharding
from shardc.planning.program.costs.prices import Arcs, Price, Prices
from shardc.planning.program.integer.basis import BASIC, LOWER, Basis, Parts
from shardc.planning.program.integer.choices import Every
from shardc.planning.program.integer.cuts import Shared, SharedCopies
from shardc.planning.program.integer.highs import Numbers, Row, Rows, Solved, Vector
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable, work_of
from shardc.planning.reshard.distances import FEW

Columns = dict[Sharding, list[int]]
"""For each layout the columns, one of which is 1 if it is taken; the column ONE for a fixed layout."""


class Produced(NamedTuple):
    """A value: its type, how often it is made, what is around it, and whether it is in memory only where it
    is sent."""

    type: TensorType
    trips: int
    context: Context
    fused: bool = False


Arc = tuple[Produced, Sharding, Sharding]
"""A copy that may be made: of what, from, to."""


class Copies(NamedTuple):
    """Copies of one value whose columns follow each other from `first` on: between which of some layouts, by
    number."""

    first: int
    made: Produced
    places: Sequence[Sharding]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]

    @property
    def end(self) -> int:
        return self.first + len(self.sources)

    def arc(self, column: int) -> Arc:
        """What a column stands for."""
        at = column - self.first
        return self.made, self.places[int(self.sources[at])], self.places[int(self.targets[at])]


_THERE, _BACK = np.zeros(1, np.int64), np.ones(1, np.int64)


class Network(Struct):
    """Columns with their kinds and costs, and rows: sums of columns between two bounds."""

    problem: Problem
    every: Every
    prices: Prices
    limit: float = inf
    scope: list[Variable] = []
    outside: dict[Variable, list[Choice]] = {}
    chosen: dict[Variable, range] = {}
    carried: dict[int, Columns] = {}
    tied: dict[tuple[Variable, int], Columns] = {}
    integral: list[bool] = []
    moves: list[Copies] = []
    rows: Rows = field(default_factory=Rows)
    ticks: list[float] = []
    count: list[int] = []
    parts: Parts = field(default_factory=Parts)
    shared: SharedCopies = field(default_factory=SharedCopies)
    flows: int = 0
    pairs: float = inf
    """Of layouts that may be priced yet, where each takes a while (prices.py)."""

    @property
    def size(self) -> int:
        """Columns, and as many more as there would be of flows over shared copies, one for each user."""
        return len(self.integral) + self.flows

    @property
    def options(self) -> dict[Variable, list[Choice]]:
        return self.every.choices

    def priced(self, layouts: int) -> None:
        """Count the pairs of so many layouts; TooMany if that is more than is left."""
        if len(self.prices.atoms) > FEW:
            self.pairs -= layouts * layouts
        if self.pairs < 0:
            raise TooMany

    def column(self, integral: bool = False, ticks: float = 0, count: int = 0) -> int:
        """A new column, with its cost."""
        self.parts.open(len(self.integral))
        self.integral.append(integral)
        self.ticks.append(ticks)
        self.count.append(count)
        return len(self.integral) - 1

    def columns(
        self, integral: bool, ticks: Sequence[float], count: Sequence[int], codes: Numbers | None = None
    ) -> range:
        """New columns, with their costs. `codes`: basis.py."""
        start = len(self.integral)
        self.parts.open(start, codes)
        self.integral += [integral] * len(ticks)
        self.ticks += ticks
        self.count += count
        return range(start, len(self.integral))

    def row(self, columns: Sequence[int], less: Sequence[int], low: float, high: float) -> None:
        """The sum of some columns, less that of others, is between two bounds."""
        at = self.rows.open(1, low, high)
        self.rows.put([at] * len(columns), columns, 1)
        self.rows.put([at] * len(less), less, -1)

    def price(self, arc: Arc) -> Price:
        """What a copy takes, as far as is known."""
        made, source, target = arc
        ticks, count = self.prices(made.type, source, target, made.context)
        if made.fused and count:
            ticks += self.prices.rates.cut(made.type, source, target)
        return ticks, count

    def copy(self, arc: Arc) -> int:
        """A column for a copy."""
        made, source, target = arc
        ticks, count = self.price(arc)
        column = self.column(False, made.trips * ticks, made.trips * count)
        self.moves.append(Copies(column, made, (source, target), _THERE, _BACK))
        return column

    def copies(self, made: Produced, places: Sequence[Sharding], arcs: Arcs, integral: bool = False) -> range:
        """Columns for copies of a value between some layouts."""
        ticks, count = (made.trips * arcs.ticks).tolist(), (made.trips * arcs.count).tolist()
        columns = self.columns(integral, ticks, count, arcs.codes(len(places)))
        self.moves.append(Copies(columns.start, made, places, arcs.sources, arcs.targets))
        return columns

    def costs(self) -> tuple[Vector, Vector]:
        """Ticks and collectives of every column, as prices were when it was made."""
        count = np.array(self.count, dtype=np.float64)
        return np.array(self.ticks, dtype=np.float64) + self.problem.toll * count, count

    def share(self, shared: Shared) -> None:
        """Copies that several users share."""
        self.shared.values.append(shared)
        self.flows += len(shared.needs) * len(shared.sources)

    def lacking(self, columns: Vector) -> list[Row]:
        """New rows that a solution violates, of users that no copies lead to; the program has them now."""
        rows = self.shared.lacking(columns, self.problem.lacked)
        self.rows.add(rows)
        return rows

    def start(self, before: Network, basis: Basis) -> Basis | None:
        """Where to begin after another program of the same parts ended with a basis; None if it is none."""
        columns = before.parts.carried(basis.columns, self.parts, len(self.integral), LOWER)
        kept = basis.rows[: len(before.rows.low)]  # without those that only the other had
        rows = before.rows.parts.carried(kept, self.rows.parts, len(self.rows.low), BASIC)
        return None if columns is None or rows is None else Basis(columns, rows)

    def effort(self) -> Vector:
        """Of every column what tells equally quick plans apart: collectives, then steps, then elements of
        work on a device, as one number."""
        work = np.zeros(len(self.integral))
        for variable, places in self.chosen.items():
            here = slice(places.start, places.stop)
            work[here] = [variable.trips * work_of(variable, choice) for choice in self.options[variable]]
        steps, count = np.zeros(len(self.integral)), self.costs()[1]
        for move in self.moves:
            here = slice(move.first, move.end)
            steps[here] = np.maximum(move.made.trips, count[here])
        step = 1 + work.sum()
        return work + step * (steps + (1 + steps.sum()) * count)

    def layouts(self, columns: Vector) -> dict[int, Sharding]:
        """What a solution says of the values that loops carry, by the body's argument."""
        return {
            value: max(held, key=lambda layout: columns[held[layout][0]])
            for value, held in self.carried.items()
        }

    def choices(self, columns: Vector) -> dict[Variable, Choice]:
        """What a solution says of each operation."""
        return {
            variable: self.options[variable][int(np.argmax(columns[places.start : places.stop]))]
            for variable, places in self.chosen.items()
        }

    def unsure(self, solved: Solved) -> bool:
        """Find the prices of what a solution uses exactly; whether one is another than it was taken to be."""
        return self.settle(solved.columns, solved.reduced)

    def settle(self, columns: Vector, reduced: Vector | None = None) -> bool:
        """Find the prices of what a solution uses exactly; whether one is another than it was taken to be.

        Where one is, also those of copies from and to its two layouts that may be made instead: of columns
        that are used once they cost `reduced` less, those that may cost so, and where few prices turn out to
        be higher, those that may be used now that others are so much dearer; as long as moves are allowed.
        """
        used = {column: move.arc(column) for move, column in self._copied(np.flatnonzero(columns > 1e-6))}
        self._learn(used.values())
        before = {column: self._known(arc) for column, arc in used.items()}
        changed = [arc for arc in used.values() if self._settle(arc)]
        rose = sum(arc[0].trips * max(0, self._known(arc) - before[at]) for at, arc in used.items())
        for column, (arc, most) in self._near(changed).items():
            if self._known(arc) < most and self.problem.allowance.moves > 0:
                less = 0.0 if reduced is None else reduced[column]
                if (self.prices.few and less <= rose) or self._may_spare(arc, less):
                    self._settle(arc)
        return bool(changed)

    def _may_spare(self, arc: Arc, less: float) -> bool:
        """Whether all of one copy may cost more than so many ticks less than is known."""
        made, source, target = arc
        return self.prices.may_spare(less / max(1, made.trips), made.type, source, target, made.context)

    def _known(self, arc: Arc) -> float:
        """The ticks of one copy, as far as they are known."""
        made, source, target = arc
        return self.prices(made.type, source, target, made.context)[0]

    def _copied(self, columns: Numbers) -> Iterator[tuple[Copies, int]]:
        """Those of some columns, ascending, that are of copies, each with what it is among."""
        firsts = [move.first for move in self.moves]
        for column in columns.tolist():
            begun = bisect_right(firsts, column)
            if begun and column < self.moves[begun - 1].end:
                yield self.moves[begun - 1], column

    def _near(self, changed: list[Arc]) -> dict[int, tuple[Arc, float]]:
        """The columns of copies of equal tensors from or to a layout of some copies, each with its copy and
        with what the dearest of these takes."""
        ends = dict[tuple[TensorType, Context], dict[Sharding, float]]()
        for made, source, target in changed:
            ticks, _ = self.prices(made.type, source, target, made.context)
            dearest = ends.setdefault((made.type, made.context), {})
            for at in (source, target):
                dearest[at] = max(ticks, dearest.get(at, 0))
        found = dict[int, tuple[Arc, float]]()
        for move in self.moves if changed else ():
            key = move.made.type, move.made.context
            if key in ends:
                dear = np.array([ends[key].get(place, 0.0) for place in move.places])
                most = np.maximum(dear[move.sources], dear[move.targets])
                for at in np.flatnonzero(most).tolist():
                    arc = move.arc(move.first + at)
                    found[move.first + at] = arc, float(most[at])
        self._learn(arc for arc, _ in found.values())
        return found

    def _learn(self, arcs: Iterable[Arc]) -> None:
        """Look up what some copies take, those of equal tensors together."""
        pairs = dict[tuple[TensorType, Context], list[tuple[Sharding, Sharding]]]()
        for made, source, target in arcs:
            pairs.setdefault((made.type, made.context), []).append((source, target))
        for (type, context), each in pairs.items():
            self.prices.learn(type, each, context)

    def _settle(self, arc: Arc) -> bool:
        made, source, target = arc
        before = self.prices.tried
        changed = self.prices.settle(made.type, source, target, made.context)
        self.problem.allowance.moves -= self.prices.tried - before
        return changed
