"""The planning problem as an integer program.

A column for each (operation, choice): 1 if the operation runs that way; others for the layouts of what loops
carry, and for copies of values (building.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from shardc.analysis.manual import AxisNames
from shardc.forms.choice import Choice
from shardc.graph import TensorType
from shardc.layout import Sharding
from shardc.planning.program.choices import Every
from shardc.planning.program.highs import Rows, Solved, Vector
from shardc.planning.program.listing import TooMany
from shardc.planning.program.prices import Price, Prices
from shardc.planning.program.problem import Problem
from shardc.planning.program.variables import Variable, work_of
from shardc.planning.reshard.distances import FEW

Columns = dict[Sharding, list[int]]
"""For each layout the columns, one of which is 1 if it is taken; the column ONE for a fixed layout."""


class Produced(NamedTuple):
    """A value: its type, how often it is made, the manual axes of the code around it, and whether it is in
    memory only where it is sent."""

    type: TensorType
    trips: int
    manual: AxisNames
    fused: bool = False


Arc = tuple[Produced, Sharding, Sharding]
"""A copy that may be made: of what, from, to."""


@dataclass
class Network:
    """Columns with their kinds and costs, and rows: sums of columns between two bounds."""

    problem: Problem
    every: Every
    prices: Prices
    limit: float = inf
    scope: list[Variable] = field(default_factory=list[Variable])
    outside: dict[Variable, list[Choice]] = field(default_factory=dict[Variable, list[Choice]])
    chosen: dict[Variable, list[int]] = field(default_factory=dict[Variable, list[int]])
    carried: dict[int, Columns] = field(default_factory=dict[int, Columns])
    tied: dict[tuple[Variable, int], Columns] = field(default_factory=dict["tuple[Variable, int]", Columns])
    integral: list[bool] = field(default_factory=list[bool])
    arcs: dict[int, Arc] = field(default_factory=dict[int, Arc])
    rows: Rows = field(default_factory=Rows)
    ticks: list[float] = field(default_factory=list[float])
    count: list[int] = field(default_factory=list[int])
    pairs: float = inf
    """Of layouts that may be priced yet, where each takes a while (prices.py)."""

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
        self.integral.append(integral)
        self.ticks.append(ticks)
        self.count.append(count)
        return len(self.integral) - 1

    def row(self, columns: Sequence[int], less: Sequence[int], low: float, high: float) -> None:
        """The sum of some columns, less that of others, is between two bounds."""
        at = self.rows.open(1, low, high)
        self.rows.put([at] * len(columns), columns, 1)
        self.rows.put([at] * len(less), less, -1)

    def free_columns(self, count: int) -> range:
        """New columns that cost nothing."""
        start = len(self.integral)
        for column, value in ((self.integral, False), (self.ticks, 0.0), (self.count, 0)):
            column += [value] * count
        return range(start, start + count)

    def price(self, arc: Arc) -> Price:
        """What a copy takes, as far as is known."""
        made, source, target = arc
        ticks, count = self.prices(made.type, source, target, made.manual)
        if made.fused and count:
            ticks += self.prices.rates.cut(made.type, source, target)
        return ticks, count

    def copy(self, arc: Arc, price: Price, integral: bool = False) -> int:
        """A column for a copy."""
        trips, (ticks, count) = arc[0].trips, price
        column = self.column(integral, trips * ticks, trips * count)
        self.arcs[column] = arc
        return column

    def costs(self) -> tuple[Vector, Vector]:
        """Ticks and collectives of every column, as prices were when it was made."""
        count = np.array(self.count, dtype=np.float64)
        return np.array(self.ticks, dtype=np.float64) + self.problem.toll * count, count

    def effort(self) -> Vector:
        """Of every column what tells equally quick plans apart: collectives, then steps, then elements of
        work on a device, as one number."""
        work = np.zeros(len(self.integral))
        for variable, places in self.chosen.items():
            work[places] = [variable.trips * work_of(variable, choice) for choice in self.options[variable]]
        steps, count = np.zeros(len(self.integral)), self.costs()[1]
        for column, arc in self.arcs.items():
            steps[column] = max(arc[0].trips, self.count[column])
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
            variable: self.options[variable][int(np.argmax(columns[places]))]
            for variable, places in self.chosen.items()
        }

    def unsure(self, solved: Solved) -> bool:
        """Find the prices of what a solution uses exactly; whether one is another than it was taken to be."""
        return self.settle(solved.columns, solved.reduced)

    def settle(self, columns: Vector, reduced: Vector | None = None) -> bool:
        """Find the prices of what a solution uses exactly; whether one is another than it was taken to be.

        Where one is, also those of copies from and to its two layouts that may cost less, of which one may be
        made instead: of columns that are used once they cost `reduced` less, those that may cost so.
        """
        used = [arc for column, arc in self.arcs.items() if columns[column] > 1e-6]
        changed = [arc for arc in used if self._settle(arc)]
        for column, most in self._near(changed).items():
            made, source, target = arc = self.arcs[column]
            if self.prices(made.type, source, target, made.manual)[0] < most:
                least = 0.0 if reduced is None else reduced[column] / max(1, made.trips)
                if self.prices.may_spare(least, made.type, source, target, made.manual):
                    self._settle(arc)
        return bool(changed)

    def _near(self, changed: list[Arc]) -> dict[int, float]:
        """The columns of copies of equal tensors from or to a layout of some copies, with what the dearest of
        these takes. What they take themselves is looked up together."""
        ends = dict[tuple[TensorType, AxisNames], dict[Sharding, float]]()
        for made, source, target in changed:
            ticks, _ = self.prices(made.type, source, target, made.manual)
            dearest = ends.setdefault((made.type, made.manual), {})
            for at in (source, target):
                dearest[at] = max(ticks, dearest.get(at, 0))
        found, pairs = dict[int, float](), {key: list[tuple[Sharding, Sharding]]() for key in ends}
        for column, (made, source, target) in self.arcs.items() if changed else ():
            key = made.type, made.manual
            most = max(ends[key].get(source, 0), ends[key].get(target, 0)) if key in ends else 0
            if most:
                found[column] = most
                pairs[key].append((source, target))
        for (type, manual), each in pairs.items():
            self.prices.learn(type, each, manual)
        return found

    def _settle(self, arc: Arc) -> bool:
        made, source, target = arc
        return self.prices.settle(made.type, source, target, made.manual)
