"""What reshards cost, as far as is known: at least so much, and exactly once somebody asks."""

from __future__ import annotations

from shardc.graph import TensorType
from shardc.graph.manual import NONE, Names
from shardc.layout import Sharding
from shardc.planning.distances import Atoms, distances
from shardc.planning.reshard import program_plan

Key = tuple[TensorType, Sharding, Sharding, Names]


class Prices:
    """Bytes and collectives of reshards."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.known: dict[Key, tuple[float, int]] = {}
        self.exact: set[Key] = set()

    def __call__(
        self, type: TensorType, source: Sharding, target: Sharding, manual: Names = NONE
    ) -> tuple[float, int]:
        """The best that is known: a lower bound of the bytes, or exact."""
        key = (type, source, target, manual)
        if key not in self.known:
            self.known[key] = distances(self.atoms, type.rank).least(type, source, target)
        return self.known[key]

    def settle(self, type: TensorType, source: Sharding, target: Sharding, manual: Names = NONE) -> bool:
        """Find a price exactly; whether it is another than was known."""
        key = (type, source, target, manual)
        if key in self.exact:
            return False
        self.exact.add(key)
        moved, steps = self(type, source, target, manual)
        cost = program_plan(type, source, target, manual).cost
        self.known[key] = (float(cost.bytes), cost.steps)
        return abs(moved - cost.bytes) > 1e-6 * cost.bytes or steps != cost.steps
