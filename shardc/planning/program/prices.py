"""What reshards cost, as far as is known: at least so much, and exactly once somebody asks."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.analysis.manual import NO_AXES, AxisNames
from shardc.graph import TensorType
from shardc.layout import Sharding
from shardc.planning.program.rates import Rates
from shardc.planning.reshard.distances import AxisAtoms, distances
from shardc.planning.solvers import Matrix

Key = tuple[TensorType, Sharding, Sharding, AxisNames]
Price = tuple[float, int]
"""Ticks and collectives."""


class Prices:
    """Ticks and collectives of reshards."""

    def __init__(self, atoms: AxisAtoms, rates: Rates) -> None:
        self.atoms, self.rates = atoms, rates
        self.known: dict[Key, Price] = {}
        self.exact: set[Key] = set()
        self.settled: dict[tuple[TensorType, AxisNames], list[Key]] = {}
        self.direct: dict[
            tuple[TensorType, AxisNames], dict[object, dict[tuple[Sharding, Sharding], Price]]
        ] = {}
        """Copies that are not made in two steps as well (building.py), while prices stay."""

    def __call__(
        self, type: TensorType, source: Sharding, target: Sharding, manual: AxisNames = NO_AXES
    ) -> Price:
        """The best that is known: a lower bound of the ticks, or exact."""
        key, (per_byte, each) = (type, source, target, manual), self.rates.least
        if key not in self.known:
            bytes, count = distances(self.atoms, type.rank).least(type, source, target)
            self.known[key] = per_byte * bytes + each * count, count
        return self.known[key]

    def table(
        self, type: TensorType, places: Sequence[Sharding], manual: AxisNames = NO_AXES
    ) -> tuple[Matrix, Matrix]:
        """The same from each of some layouts to each."""
        bytes, count = distances(self.atoms, type.rank).table(type, places)
        per_byte, each = self.rates.least
        ticks = per_byte * bytes + each * count
        at = {place: number for number, place in enumerate(places)}
        for key in self.settled.get((type, manual), ()):
            if key[1] in at and key[2] in at:
                where = at[key[1]], at[key[2]]
                ticks[where], count[where] = self.known[key]
        return ticks, count

    def settle(
        self, type: TensorType, source: Sharding, target: Sharding, manual: AxisNames = NO_AXES
    ) -> bool:
        """Find a price exactly; whether it is another than was known."""
        key = (type, source, target, manual)
        if key in self.exact:
            return False
        self.exact.add(key)
        before, steps = self(type, source, target, manual)
        ticks, collectives, _ = self.rates.copies(type, source, (target,), manual)
        self.known[key] = (float(ticks), collectives)
        self.settled.setdefault((type, manual), []).append(key)
        self.direct.pop((type, manual), None)
        return abs(before - ticks) > 1e-6 * ticks or steps != collectives
