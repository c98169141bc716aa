"""What reshards cost, as far as is known: at least so much, and exactly once somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.analysis.phases import PLAIN, Context
from shardc.forms.choice import Choice
from shardc.graph import TensorType
from shardc.layout import Sharding
from shardc.planning.effort import spend
from shardc.planning.program.costs.bounds import Asked, Bounds
from shardc.planning.program.costs.over_whole_axes import OverWholeAxes
from shardc.planning.program.costs.rates import Rates
from shardc.planning.reshard.atoms import refine
from shardc.planning.reshard.copies import tried
from shardc.planning.reshard.distances import FEW, distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.solvers import Matrix, Vector

NEAR = 1e-9  # of bytes: what rounding may take off

Key = tuple[TensorType, Sharding, Sharding, Context]
Price = tuple[float, int]
"""Ticks and collectives."""

Table = tuple[TensorType, Context, tuple[Sharding, ...]]
"""Changes of a tensor between all of some layouts."""

Pairs = Sequence[tuple[Sharding, Sharding]]
"""Changes between two layouts each."""


class Arcs(Struct, frozen=True):
    """Copies between layouts of a list, by their numbers there, with prices."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    ticks: Vector
    count: NDArray[np.int64]

    def only(self, kept: NDArray[np.bool_]) -> Arcs:
        """Some of them."""
        return Arcs(self.sources[kept], self.targets[kept], self.ticks[kept], self.count[kept])

    def codes(self, layouts: int) -> NDArray[np.int64]:
        """A number for each, of a list of so many layouts."""
        return self.sources * layouts + self.targets


class Prices:
    """Ticks and collectives of reshards."""

    def __init__(self, atoms: AxisAtoms, rates: Rates) -> None:
        self.atoms, self.rates = atoms, rates
        axes = [axis for run in atoms for axis in run]
        self.fine = len(axes) == len(atoms) and axes == refine(axes)
        """Whether no collective cuts an axis further."""
        self.changes = 0
        """How many prices turned out to be others than they were taken to be."""
        self.tried = 0
        """How many moves were tried to find prices exactly."""
        self.known: dict[Key, Price] = {}
        self.bounds = OverWholeAxes(atoms, rates) if rates.whole else Bounds(atoms, rates)
        self.exact: set[Key] = set()
        self.settled: dict[tuple[TensorType, Context], list[Key]] = {}
        self.direct: dict[tuple[TensorType, Context], dict[object, Arcs]] = {}
        """Copies that are not made in two steps as well (building.py), while prices stay."""
        self._groups: dict[tuple[int, int, bool], tuple[list[Choice], dict[Sharding, list[int]]]] = {}
        self.tables: dict[Table, tuple[Matrix, Matrix]] = {}
        """Lower bounds between all of some layouts."""

    def groups(self, choices: list[Choice], index: int, operand: bool) -> dict[Sharding, list[int]]:
        """For each layout that some choices of an operation give one of its operands or results, which of the
        choices; the same object for the same list."""
        key = (id(choices), index, operand)
        if key not in self._groups:
            found: dict[Sharding, list[int]] = {}
            for place, choice in enumerate(choices):
                layout = (choice.operands if operand else choice.results)[index]
                found.setdefault(layout, []).append(place)
            self._groups[key] = choices, found
        return self._groups[key][1]

    def __call__(
        self, type: TensorType, source: Sharding, target: Sharding, context: Context = PLAIN
    ) -> Price:
        """The best that is known: a lower bound of the ticks, or exact."""
        key = (type, source, target, context)
        if key not in self.known:
            self.learn(type, [(source, target)], context)
        return self.known[key]

    def learn(self, type: TensorType, pairs: Pairs, context: Context) -> None:
        """Look up the prices between pairs of layouts."""
        self.look_up((), [((type, context, tuple(dict.fromkeys(chain.from_iterable(pairs)))), pairs)])

    def look_up(self, tables: Iterable[Table], ways: Iterable[tuple[Table, Pairs]]) -> None:
        """Look up together, as far as they are not known, the prices between all of some layouts, and those
        between some pairs of layouts."""
        new = dict.fromkeys(table for table in tables if table not in self.tables)
        asked = [Asked(type, places, *_all(len(places)), context) for type, context, places in new]
        keys = list[list[Key]]()
        for (type, context, places), pairs in ways:
            found = [key for pair in pairs if (key := (type, *pair, context)) not in self.known]
            if found:
                number = {place: at for at, place in enumerate(places)}
                ends = [number[key[1]] for key in found], [number[key[2]] for key in found]
                rows, columns = (np.array(each, np.int64) for each in ends)
                asked.append(Asked(type, places, rows, columns, context))
                keys.append(found)
        bounds = self.bounds.of(asked)
        for table, (ticks, count) in zip(new, bounds[: len(new)], strict=True):
            shape = (len(table[2]),) * 2
            self.tables[table] = ticks.reshape(shape), count.reshape(shape)
        for found, bound in zip(keys, bounds[len(new) :], strict=True):
            for key, ticks, count in zip(found, *(part.tolist() for part in bound), strict=True):
                self.known[key] = ticks, int(count)

    def table(
        self,
        type: TensorType,
        places: Sequence[Sharding],
        context: Context = PLAIN,
        fused: bool = False,
    ) -> tuple[Matrix, Matrix]:
        """The same from each of some layouts to each; of a value that is `fused` with Rates.cut."""
        key = type, context, (*places,)
        self.look_up([key], ())
        ticks, count = (each.copy() for each in self.tables[key])
        at = {place: number for number, place in enumerate(places)}
        for _, source, target, _ in self.settled.get((type, context), ()):
            if source in at and target in at:
                where = at[source], at[target]
                ticks[where], count[where] = self.known[type, source, target, context]
        if fused:
            ticks += np.where(count > 0, self.rates.cuts(type, places), 0)
        return ticks, count

    @property
    def few(self) -> bool:
        """Whether few prices turn out to be higher than they were taken to be."""
        return self.rates.flat or self.rates.free or (self.fine and len(self.atoms) <= FEW)

    def may_spare(
        self, least: float, type: TensorType, source: Sharding, target: Sharding, context: Context = PLAIN
    ) -> bool:
        """Whether a copy may cost more than `least` ticks less than is known, as far as anybody looks: where
        a way over finer pieces of axes may send less, as much less as that is less."""
        if least < 0:  # of what is used as it is
            return True
        price = self(type, source, target, context)[0]
        if self.fine or price <= least or (type, source, target, context) in self.exact:
            return False
        known = distances(self.atoms, type.rank)
        if not known.charted:
            return True
        sent, finer, _ = known.spared(source, target)
        return finer < sent * (1 - NEAR) and price * (1 - finer / sent) > least

    def found(self) -> list[tuple[Key, Price]]:
        """All prices that were found exactly, those of equal tensors together."""
        return [(key, self.known[key]) for keys in self.settled.values() for key in keys]

    def take(self, key: Key, price: Price) -> None:
        """Know a price that was found exactly before."""
        self.exact.add(key)
        self.known[key] = price
        self.settled.setdefault((key[0], key[3]), []).append(key)

    def settle(self, type: TensorType, source: Sharding, target: Sharding, context: Context = PLAIN) -> bool:
        """Find a price exactly; whether it is another than was known."""
        key = (type, source, target, context)
        if key in self.exact:
            return False
        before, steps = self(type, source, target, context)
        ticks, collectives, _ = self.rates.copies(type, source, (target,), context)
        if not self.rates.whole:
            moves = tried(type, source, target, context.manual)
            self.tried += moves
            spend(moves)
        self.take(key, (float(ticks), collectives))
        self.direct.pop((type, context), None)
        changed = abs(before - ticks) > 1e-6 * ticks or (steps != collectives and not self.rates.whole)
        self.changes += changed
        return changed


@lru_cache(maxsize=1024)
def _all(count: int) -> tuple[Numbers, Numbers]:
    """From each of so many to each."""
    rows, columns = np.divmod(np.arange(count * count), count)
    return rows, columns
