"""Whether copies that several users share lead from what is given to what each of them needs.

    given: [x]     needed: [y] and [-]     copies: [y] to [-], [-] to [y]      each is made of the other

That a needed layout comes from somewhere does not say it. As much as a user needs must be able to flow to it
over the copies from what is given (a Steiner tree, in its directed cut form): for every set of layouts, what
is copied into it and what is given in it is no less than what the user needs in it. There are too many such
sets for a row each. Those are added that a solution violates: where less flows than is needed, a least cut
(Ford and Fulkerson) is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

import numpy as np
from msgspec import Struct

from shardc.layout.distinct import distinct
from shardc.planning.program.integer.basis import Numbers
from shardc.planning.program.integer.solver import Row
from shardc.planning.solvers import Vector

NOTHING = 1e-9  # of a copy
MISSING = 1e-5  # of a need: more than the solver's limits are apart from what it keeps to

Cut = tuple[frozenset[int], int]
"""Some layouts, by number, and a user, by number."""

Capacities = dict[int, dict[int, float]]
"""What may yet flow, from each node to each."""

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

    def cuts(self, columns: Vector, given: Vector, wanted: Vector) -> list[frozenset[int]]:
        """Those that a solution violates in which so much of each layout is given, and wanted by a user."""
        made = columns[self.first : self.first + len(self.sources)]
        used = np.flatnonzero(made > NOTHING)
        arcs = [part.tolist() for part in (self.sources[used], self.targets[used], made[used])]
        return _cuts(arcs, given.tolist(), wanted.tolist())

    def row(self, cut: Cut) -> Row:
        """What comes into the layouts of a cut is no less than what is needed there."""
        (inside, user), here = cut, np.zeros(self.size, np.bool_)
        here[[*inside]] = True
        into = self.first + np.flatnonzero(here[self.targets] & ~here[self.sources])
        terms = dict.fromkeys(into.tolist(), 1.0)
        for factor, ends in ((1.0, self.given), (-1.0, self.needs[user])):
            for place, columns in ends.items():
                for at in columns if place in inside else ():
                    terms[at] = terms.get(at, 0.0) + factor
        return [(at, factor) for at, factor in terms.items() if factor], 0, inf


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
