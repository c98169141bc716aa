"""What changes of layout take at least, for many of them at once.

Most are between few layouts each, of tensors of few ranks. Those of one rank in one phase are looked up
together in the same tables (distances.py, delays.py), whatever the tensors' sizes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shardc.analysis.phases import Context, Phase
from shardc.layout import Axis, Sharding
from shardc.layout.difference import subtract
from shardc.planning.program.costs.delays import Delays, WholeAxes
from shardc.planning.program.costs.moving import Changes
from shardc.planning.program.costs.rates import ONCE, Rates
from shardc.planning.reshard.distances import Distances, distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.reshard.ways import Ways
from shardc.planning.solvers import Vector


class Asked(Changes, frozen=True):
    """Changes of layout of a tensor, with what surrounds it."""

    context: Context

    @property
    def bytes(self) -> int:
        return self.type.size * self.type.numpy.itemsize


Bound = tuple[Vector, Vector]
"""Ticks and collectives."""


class Bounds:
    """Lower bounds with axes cut into `atoms`."""

    def __init__(self, atoms: AxisAtoms, rates: Rates) -> None:
        self.atoms, self.rates = atoms, rates
        self.tables: dict[tuple[int, Phase], _Tables] = {}

    def of(self, asked: Sequence[Asked]) -> list[Bound]:
        """Of each of some questions. LayoutError if a layout has other pieces of axes."""
        found: list[Bound] = [(np.zeros(0), np.zeros(0))] * len(asked)
        together = dict[tuple[int, Phase, bool], list[int]]()
        for number, each in enumerate(asked):
            rank, context = each.type.rank, each.context
            if not len(each.rows):
                continue
            if distances(self.atoms, rank).charted:
                together.setdefault((rank, context.phase, bool(context.manual)), []).append(number)
            else:
                found[number] = self._alone(each)
        for (rank, phase, manual), numbers in together.items():
            some = [asked[number] for number in numbers]
            ticks, count = self._of_charted(self._tables_of(rank, phase), manual, some)
            end = 0
            for number, each in zip(numbers, some, strict=True):
                here = slice(end, end := end + len(each.rows))
                found[number] = ticks[here], count[here]
        return found

    def _alone(self, asked: Asked) -> Bound:
        """Where ways are not charted. With latency quicker ones may have fewer collectives than those of the
        fewest bytes, and of a sum the axes that hold copies may spare up to a half."""
        known, layouts = distances(self.atoms, asked.type.rank), asked.layouts
        moved, count = known.each(layouts, layouts, asked.rows, asked.columns)
        per_byte, each = self.rates.least
        if self.rates.free:
            return per_byte * (moved * asked.bytes) + each * count, count
        rows: list[int] = asked.rows.tolist()
        columns: list[int] = asked.columns.tolist()
        waits = [
            (layouts[row].unreduced, layouts[column].unreduced)
            for row, column in zip(rows, columns, strict=True)
        ]
        sure = count
        if not self.rates.flat:
            moved = moved / (1.0 + np.array([_has_more(before, after) for before, after in waits]))
            sure = np.minimum(count, 1)
        ticks = per_byte * (moved * asked.bytes) + each * sure
        return ticks + ONCE * np.array([_has_more(after, before) for before, after in waits]), count

    def _tables_of(self, rank: int, phase: Phase) -> _Tables:
        if (rank, phase) not in self.tables:
            self.tables[rank, phase] = _Tables(distances(self.atoms, rank), self.rates, phase)
        return self.tables[rank, phase]

    def _of_charted(self, tables: _Tables, manual: bool, some: Sequence[Asked]) -> Bound:
        rates, known = self.rates, tables.known
        changes = _Changes(tables, some)
        begin, end = ends = changes.ends(NUMBER)
        moved, count = known.moved(known.ways.paths.pairs(begin, end))
        if not rates.flat:  # a way that is quicker may be over axes that hold copies for fewer bytes, too
            moved, _ = known.moved(known.ways.shared.pairs(begin, end))
        per_byte, each = rates.least
        if rates.free:
            return per_byte * (moved * changes.bytes) + each * count, count
        # the quickest way may have fewer collectives than that of the fewest bytes
        sure = count if rates.flat else np.minimum(count, known.ways.fewest.pairs(begin, end))
        ticks = per_byte * (moved * changes.bytes) + each * sure
        if tables.delays is not None:
            ticks = np.maximum(ticks, tables.delays.ticks(changes.bytes, *ends))
            if not manual:  # along whose axes copies don't share work
                ticks = np.maximum(ticks, changes.over_whole_axes())
        return ticks + ONCE * tables.more()[changes.ends(WAITS)[::-1]], count


NUMBER, WHOLE, WAITS, KIND = range(4)
"""What is known of a layout: its number, that among layouts of whole axes or -1, that of the axes over which
it is a partial result, and that of the kind, 0 if it is none."""


class _Tables:
    """What is looked up for tensors of one rank in one phase."""

    def __init__(self, known: Distances, rates: Rates, phase: Phase) -> None:
        self.known = known
        timed = not rates.flat and not rates.free and bool(known.atoms)
        self.delays = Delays(known, rates, phase) if timed else None
        self.whole = WholeAxes(known, rates, phase) if timed else None
        self._facts: dict[Sharding, tuple[int, int, int, int]] = {}
        self._waits: dict[tuple[Axis, ...], int] = {}
        self._kinds: dict[str, int] = {"": 0}
        self._more = np.zeros((0, 0))

    def facts(self, layout: Sharding) -> tuple[int, int, int, int]:
        """What is known of a layout."""
        if layout not in self._facts:
            whole = -1 if self.whole is None else self.whole.number(layout)
            waits = self._waits.setdefault(layout.unreduced, len(self._waits))
            kind = self._kinds.setdefault(layout.kind if layout.unreduced else "", len(self._kinds))
            self._facts[layout] = self.known.number(layout), whole, waits, kind
        return self._facts[layout]

    def more(self) -> NDArray[np.float64]:
        """1 where results that are partial over the axes of a row are so over more than those of a column."""
        if len(self._more) < len(self._waits):
            each = [*self._waits]
            self._more = np.array([[float(_has_more(axes, others)) for others in each] for axes in each])
        return self._more


class _Changes:
    """All changes of layout of some questions, one after the other."""

    def __init__(self, tables: _Tables, some: Sequence[Asked]) -> None:
        self.tables = tables
        facts = np.array([tables.facts(layout) for each in some for layout in each.layouts], np.int64)
        starts = np.cumsum([0, *(len(each.layouts) for each in some)])
        pairs = [(start + each.rows, start + each.columns) for start, each in zip(starts, some, strict=False)]
        self._sources, self._targets = (facts[np.concatenate(rows)] for rows in zip(*pairs, strict=True))
        count = [len(each.rows) for each in some]
        self.bytes = np.repeat(np.array([each.bytes for each in some]), count)
        shapes = dict[tuple[int, ...], int]()
        numbers = [shapes.setdefault(each.type.shape, len(shapes)) for each in some]
        self._shapes, self._shape = [*shapes], np.repeat(np.array(numbers), count)

    def ends(self, fact: int) -> tuple[Numbers, Numbers]:
        """One thing that is known of the layouts before and after."""
        return self._sources[:, fact], self._targets[:, fact]

    def alike(self, ways: Ways, fact: int, which: Numbers) -> NDArray[np.bool_]:
        """Ways.alike of some of the changes, in a graph in which layouts have such numbers."""
        found, shape = np.ones(len(which), np.bool_), self._shape[which]
        for number, sizes in enumerate(self._shapes):
            here = np.flatnonzero(shape == number)
            if len(here) and not ways.is_even(sizes):
                sources, targets = (end[which[here]] for end in self.ends(fact))
                found[here] = ways.alike(sizes, sources, targets)
        return found

    def over_whole_axes(self) -> Vector:
        """Ticks of those that are over whole axes; 0 where a plan may take another way, and where partial
        sums become partial maxima, or the like."""
        whole = self.tables.whole
        ticks = np.zeros(len(self._sources))
        (sources, targets), (first, second) = self.ends(WHOLE), self.ends(KIND)
        one_kind = (first == second) | (first == 0) | (second == 0)
        which = np.flatnonzero((sources >= 0) & (targets >= 0) & one_kind)
        if whole is not None and len(which):
            wholes, begin, end = (sources[which], targets[which]), *self.ends(NUMBER)
            sure = whole.sure(wholes, (begin[which], end[which]))
            sure &= self.alike(whole.whole.ways, WHOLE, which)
            ticks[which] = np.where(sure, whole.delays.ticks(self.bytes[which], *wholes), 0)
        return ticks


@lru_cache(maxsize=65536)
def _has_more(axes: tuple[Axis, ...], others: tuple[Axis, ...]) -> bool:
    """Whether what is whole over some axis becomes a partial result over it."""
    return bool(subtract(axes, others))
