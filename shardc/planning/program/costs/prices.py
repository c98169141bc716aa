"""What reshards cost, as far as is known: at least so much, and exactly once somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.analysis.phases import PLAIN, Context, Phase
from shardc.forms.choice import Choice
from shardc.graph import TensorType
from shardc.layout import Axis, Sharding
from shardc.layout.difference import subtract
from shardc.planning.effort import spend
from shardc.planning.program.costs.delays import Delays, WholeAxes
from shardc.planning.program.costs.rates import ONCE, Rates
from shardc.planning.reshard.atoms import refine
from shardc.planning.reshard.copies import tried
from shardc.planning.reshard.distances import FEW, Distances, distances
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.solvers import Matrix, Vector

NEAR = 1e-9  # of bytes: what rounding may take off

Key = tuple[TensorType, Sharding, Sharding, Context]
Price = tuple[float, int]
"""Ticks and collectives."""


def _made_partial(sources: Sequence[Sharding], targets: Sequence[Sharding]) -> Matrix:
    """1 where what is whole over some axis becomes a partial result over it."""
    found = np.zeros((len(sources), len(targets)))
    for at, target in enumerate(targets):
        if target.unreduced:
            found[:, at] = [_has_more(target.unreduced, source.unreduced) for source in sources]
    return found


@lru_cache(maxsize=65536)
def _has_more(axes: tuple[Axis, ...], others: tuple[Axis, ...]) -> bool:
    return bool(subtract(axes, others))


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
        self.known: dict[Key, Price] = {}
        self.delays: dict[tuple[int, Phase], tuple[Delays, WholeAxes]] = {}
        self.exact: set[Key] = set()
        self.settled: dict[tuple[TensorType, Context], list[Key]] = {}
        self.direct: dict[tuple[TensorType, Context], dict[object, Arcs]] = {}
        """Copies that are not made in two steps as well (building.py), while prices stay."""
        self._groups: dict[tuple[int, int, bool], tuple[list[Choice], dict[Sharding, list[int]]]] = {}
        self.tables: dict[tuple[object, ...], tuple[Matrix, Matrix, Matrix]] = {}
        """Lower bounds between all of some layouts, and what is added where something is sent."""

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

    def learn(self, type: TensorType, pairs: Sequence[tuple[Sharding, Sharding]], context: Context) -> None:
        """Look up the prices between pairs of layouts, together."""
        new = [pair for pair in dict.fromkeys(pairs) if (type, *pair, context) not in self.known]
        if not new:
            return
        if len(self.atoms) > FEW:
            found = self._each(type, new)
        else:
            rows, columns = (list(dict.fromkeys(pair[end] for pair in new)) for end in (0, 1))
            row, column = ({at: number for number, at in enumerate(each)} for each in (rows, columns))
            where = tuple(np.array([(row[s], column[t]) for s, t in new], np.int64).T)
            found = (each[where] for each in self._least(type, rows, columns, context))
        for pair, ticks, count in zip(new, *(each.tolist() for each in found), strict=True):
            self.known[type, *pair, context] = ticks, int(count)

    def _each(self, type: TensorType, pairs: Sequence[tuple[Sharding, Sharding]]) -> tuple[Vector, Vector]:
        """Lower bounds for some pairs of layouts, on meshes of many axes."""
        bytes, count = distances(self.atoms, type.rank).each(type, pairs)
        per_byte, each = self.rates.least
        ticks = per_byte * bytes + each * count
        if self.rates.free:
            return ticks, count
        made = [_has_more(target.unreduced, source.unreduced) for source, target in pairs]
        return ticks + ONCE * np.array(made), count

    def _least(
        self,
        type: TensorType,
        sources: Sequence[Sharding],
        targets: Sequence[Sharding],
        context: Context,
    ) -> tuple[Matrix, Matrix]:
        """Lower bounds from each of some layouts to each of others."""
        known = distances(self.atoms, type.rank)
        bytes, count = known.table(type, sources, targets)
        per_byte, each = self.rates.least
        sure = count if self.rates.flat or self.rates.free else known.surely(type, sources, targets, count)
        ticks = per_byte * bytes + each * sure
        if self.rates.free:
            return ticks, count
        if not self.rates.flat and self.atoms and known.charted:
            delays, whole = self._delays(known, context.phase)
            size = type.size * type.numpy.itemsize
            ticks = np.maximum(ticks, delays.ticks(size, *known.numbers(sources, targets)))
            if not context.manual:  # along whose axes copies don't share work
                ticks = np.maximum(ticks, whole.ticks(type, sources, targets))
        return ticks + ONCE * _made_partial(sources, targets), count

    def _delays(self, known: Distances, phase: Phase) -> tuple[Delays, WholeAxes]:
        key = known.rank, phase
        if key not in self.delays:
            self.delays[key] = Delays(known, self.rates, phase), WholeAxes(known, self.rates, phase)
        return self.delays[key]

    def table(
        self,
        type: TensorType,
        places: Sequence[Sharding],
        context: Context = PLAIN,
        fused: bool = False,
    ) -> tuple[Matrix, Matrix]:
        """The same from each of some layouts to each; of a value that is `fused` with Rates.cut."""
        key = type, fused, context, *places
        if key not in self.tables:
            cuts = self.rates.cuts(type, places) if fused else np.zeros(())
            self.tables[key] = *self._least(type, places, places, context), cuts
        least, steps, cut = self.tables[key]
        ticks, count = least.copy(), steps.copy()
        at = {place: number for number, place in enumerate(places)}
        for _, source, target, _ in self.settled.get((type, context), ()):
            if source in at and target in at:
                where = at[source], at[target]
                ticks[where], count[where] = self.known[type, source, target, context]
        return ticks + np.where(count > 0, cut, 0), count

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
        spend(tried(type, source, target, context.manual))
        self.take(key, (float(ticks), collectives))
        self.direct.pop((type, context), None)
        changed = abs(before - ticks) > 1e-6 * ticks or steps != collectives
        self.changes += changed
        return changed
