"""What reshards cost, as far as is known: at least so much, and exactly once somebody asks."""

from __future__ import annotations

from shardc.analysis.manual import NO_AXES, AxisNames
from shardc.graph import TensorType
from shardc.layout import Sharding
from shardc.planning.program.rates import Rates
from shardc.planning.reshard.distances import AxisAtoms, distances

Key = tuple[TensorType, Sharding, Sharding, AxisNames]


class Prices:
    """Ticks and collectives of reshards."""

    def __init__(self, atoms: AxisAtoms, rates: Rates) -> None:
        self.atoms, self.rates = atoms, rates
        self.known: dict[Key, tuple[float, int]] = {}
        self.exact: set[Key] = set()
        self.direct: dict[object, list[tuple[Sharding, Sharding]]] = {}
        """Copies that are not made in two steps as well (network.py), while prices stay."""

    def __call__(
        self, type: TensorType, source: Sharding, target: Sharding, manual: AxisNames = NO_AXES
    ) -> tuple[float, int]:
        """The best that is known: a lower bound of the ticks, or exact."""
        key = (type, source, target, manual)
        if key not in self.known:
            found = distances(self.atoms, type.rank).least(type, source, target)
            self.known[key] = self.rates.at_least(*found), found[1]
        return self.known[key]

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
        self.direct.clear()
        return abs(before - ticks) > 1e-6 * ticks or steps != collectives
