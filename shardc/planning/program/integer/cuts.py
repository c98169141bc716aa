"""Whether copies that several users share lead from what is given to what each of them needs.

    given: [x]     needed: [y] and [-]     copies: [y] to [-], [-] to [y]      each is made of the other

That a needed layout comes from somewhere does not say it. As much as a user needs must be able to flow to it
over the copies from what is given (a Steiner tree, in its directed cut form): for every set of layouts, what
is copied into it and what is given in it is no less than what the user needs in it. There are too many such
sets for a row each. Those are added that a solution violates: where less flows than is needed, a least cut
(Ford and Fulkerson) is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from math import inf

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.layout.distinct import distinct
from shardc.planning.program.integer.basis import Numbers
from shardc.planning.program.integer.highs import Rows
from shardc.planning.program.integer.solver import Row
from shardc.planning.program.problem.lacked import Cut, Lacked, Places, note
from shardc.planning.solvers import Vector

NOTHING = 1e-9  # of a copy
MISSING = 1e-5  # of a need: more than the solver's limits are apart from what it keeps to

Capacities = dict[int, dict[int, float]]
"""What may yet flow, from each node to each."""

Longs = NDArray[np.int64]

SOURCE, SINK = -1, -2


class Shared(Struct, frozen=True):
    """Copies of one value, from and to which of `size` layouts, by number, in columns from `first` on; the
    columns that give layouts, and those of each user that need them."""

    size: int
    first: int
    sources: Numbers
    targets: Numbers
    given: dict[int, list[int]]
    needs: list[dict[int, list[int]]]

    @property
    def places(self) -> Places:
        """The numbers of the layouts in which it may be, be given and be needed."""
        return self.size, tuple(self.given), tuple(map(tuple, self.needs))

    def cuts(self, columns: Vector, given: Vector, wanted: Vector) -> list[frozenset[int]]:
        """Those that a solution violates in which so much of each layout is given, and wanted by a user."""
        made = columns[self.first : self.first + len(self.sources)]
        used = np.flatnonzero(made > NOTHING)
        arcs = [part.tolist() for part in (self.sources[used], self.targets[used], made[used])]
        return _cuts(arcs, given.tolist(), wanted.tolist())

    def rows(self, cuts: Sequence[Cut]) -> list[Row]:
        """What comes into the layouts of each cut is no less than what is needed there."""
        terms = [dict[int, float]() for _ in cuts]
        for rows, columns, factor in self.terms(cuts):
            pairs: Iterable[tuple[int, int]] = zip(rows.tolist(), columns.tolist(), strict=True)
            for row, column in pairs:
                terms[row][column] = terms[row].get(column, 0.0) + factor
        return [([(column, factor) for column, factor in each.items() if factor], 0, inf) for each in terms]

    def terms(self, cuts: Sequence[Cut]) -> Iterator[tuple[Longs, Longs, float]]:
        """Of the rows of some cuts, by number, in which columns a factor is, part by part; what two parts say
        of one row and column adds up."""
        inside = np.zeros((len(cuts), self.size), np.bool_)
        for number, (places, _) in enumerate(cuts):
            inside[number, [*places]] = True
        rows, copies = np.nonzero(inside[:, self.targets] & ~inside[:, self.sources])
        yield rows, self.first + copies, 1.0
        users = np.array([user for _, user in cuts])
        parts = [(self.given, np.arange(len(cuts)), 1.0)]
        parts += [(need, np.flatnonzero(users == user), -1.0) for user, need in enumerate(self.needs)]
        for ends, which, factor in parts:
            places = np.repeat([*ends], [*map(len, ends.values())])
            columns = np.array([*chain.from_iterable(ends.values())], np.int64)
            rows, here = np.nonzero(inside[which][:, places])
            yield which[rows], columns[here], factor


class Ends(Struct, frozen=True):
    """Where values that several users share begin and end: of each value as many places as it has layouts,
    for what is given, and again for each user.

    `columns`, and the place of each; and of users' places, one after the other, their numbers, those of what
    is given of the same value in the same layout, and which of the `users` it is: the value, and its own
    number there.
    """

    columns: Numbers
    places: Numbers
    wanted: Numbers
    given: Numbers
    whose: Numbers
    users: list[tuple[int, int]]

    @staticmethod
    def of(shared: Sequence[Shared]) -> Ends:
        columns, places, users = list[int](), list[int](), list[tuple[int, int]]()
        parts, count = [np.zeros((3, 0), np.int64)], 0
        for number, value in enumerate(shared):
            each = np.arange(value.size)
            start = count
            for user, ends in enumerate((value.given, *value.needs), -1):
                for place, some in ends.items():
                    columns += some
                    places += [count + place] * len(some)
                if user >= 0:
                    parts.append(np.array([count + each, start + each, each * 0 + len(users)]))
                    users.append((number, user))
                count += value.size
        wanted, given, whose = np.concatenate(parts, axis=1)
        return Ends(np.array(columns, np.int64), np.array(places, np.int64), wanted, given, whose, users)

    def lacking(self, shared: Sequence[Shared], columns: Vector) -> Iterator[tuple[int, Cut]]:
        """The cuts that a solution violates, each with the number of its value."""
        if not self.users:
            return
        amounts = np.bincount(self.places, columns[self.columns], self.wanted[-1] + 1)
        given, wanted = (amounts[places].astype(np.float64) for places in (self.given, self.wanted))
        for which in distinct(self.whose[wanted > given + MISSING]):
            number, user = self.users[which]
            here = slice(*np.searchsorted(self.whose, (which, which + 1)))
            for inside in shared[number].cuts(columns, given[here], wanted[here]):
                yield number, (inside, user)


class SharedCopies(Struct):
    """The values of a program whose copies several users share, and the cuts of which it has rows, each with
    the number of its value."""

    values: list[Shared] = []
    cuts: dict[tuple[int, Cut], None] = {}
    ends: Ends | None = None

    def lacking(self, columns: Vector, lacked: Lacked) -> list[Row]:
        """New rows that a solution violates; they count as had, and are noted for other programs.

        A row that is had, which the solver keeps to but roughly, is none.
        """
        self.ends = self.ends or Ends.of(self.values)
        found = dict[int, list[Cut]]()
        for number, cut in self.ends.lacking(self.values, columns):
            if (number, cut) not in self.cuts:
                found.setdefault(number, []).append(cut)
                self.cuts[number, cut] = None
                note(lacked, self.values[number].places, cut)
        return [row for number, cuts in found.items() for row in self.values[number].rows(cuts)]

    def known(self, lacked: Lacked) -> Iterator[tuple[int, Cut]]:
        """The cuts that programs before this one lacked of values in such places."""
        for number, shared in enumerate(self.values if lacked else ()):
            for cut in lacked.get(shared.places, ()):
                yield number, cut

    def have(self, cuts: Iterable[tuple[int, Cut]], rows: Rows) -> None:
        """Put rows of these cuts, which are new, into those of the program."""
        found = dict[int, dict[int, Cut]]()
        for number, cut in cuts:
            found.setdefault(number, {})[rows.open(1, 0, inf)] = cut
            self.cuts[number, cut] = None
        for number, each in found.items():
            places = np.array([*each])
            for at, columns, factor in self.values[number].terms([*each.values()]):
                rows.put_range(places[at], columns, factor)


def _cuts(arcs: list[list[float]], given: list[float], wanted: list[float]) -> list[frozenset[int]]:
    """The least cuts, as the places behind them, if less can flow from what is given than is wanted: the one
    nearest to what is given, and the one nearest to what is wanted."""
    left: Capacities = {}
    for start, end, amount in [
        *zip(*arcs, strict=True),
        *((SOURCE, place, amount) for place, amount in enumerate(given)),
        *((place, SINK, amount) for place, amount in enumerate(wanted)),
    ]:
        if amount > NOTHING:
            left.setdefault(int(start), {})[int(end)] = amount
            left.setdefault(int(end), {}).setdefault(int(start), 0.0)
    missing = sum(wanted) - _flow(left)
    if missing <= MISSING:
        return []
    back = {node: {other: left[other][node] for other in ends} for node, ends in left.items()}
    after = frozenset(range(len(given))).difference(_reached(left, SOURCE))
    before = frozenset(_reached(back, SINK)).difference([SINK])
    return [after] if after == before else [after, before]


def _flow(left: Capacities) -> float:
    """How much flows from the source to the sink, which is taken from what may yet flow."""
    flow = 0.0
    while SINK in (came := _reached(left, SOURCE)):
        way = [SINK]
        while way[-1] != SOURCE:
            way.append(came[way[-1]])
        steps = [(start, end) for end, start in pairwise(way)]
        more = min(left[start][end] for start, end in steps)
        for start, end in steps:
            left[start][end] -= more
            left[end][start] += more
        flow += more
    return flow


def _reached(left: Capacities, start: int) -> dict[int, int]:
    """The nodes to which something may yet flow, each with the one before it, by the fewest steps."""
    came, due = {start: start}, [start]
    for node in due:
        for other, amount in left.get(node, {}).items():
            if amount > NOTHING and other not in came:
                came[other] = node
                due.append(other)
    return came
