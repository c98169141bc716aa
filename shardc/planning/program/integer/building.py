"""The integer program of a planning problem, built: columns of operations and loops, then the ways of values.

A value goes from the layout it is given in to the layouts its users need. With one user that is a transport
problem: a column for each pair of layouts, whose sums are the columns of the choices. With several users
copies are shared: each is paid once however many users it leads to, and made only of layouts that some user
needs. That copies lead from the given layout to what each user needs is said by rows that are added where a
solution violates them (cuts.py). Both have linear relaxations that are exact on trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.costs.prices import Arcs, Prices
from shardc.planning.program.integer.choices import Every
from shardc.planning.program.integer.cuts import Shared
from shardc.planning.program.integer.network import Columns, Network
from shardc.planning.program.integer.values import ONE, Going, going, look_up
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Slot, Variable
from shardc.planning.solvers import Matrix

NEAR = 1e-9  # of a price: what rounding may add
TOGETHER = 1 << 16  # ways over a place that are compared in one go
AT_ONCE = 500  # values whose prices are looked up together


def network(
    problem: Problem,
    every: Every,
    prices: Prices,
    limit: float = inf,
    most: float = inf,
    scope: list[Variable] | None = None,
    pairs: float = inf,
) -> Network:
    """The program for these choices; variables and loops that are not in `every` keep what they have.

    It pays for the operations of `scope` (all of them) and the values that they touch. Plans that cost more
    than `limit` ticks may be missing. Building stops soon after `most` columns; TooMany where it would price
    more than so many `pairs` of layouts one by one, or a value may be in more than PLACES.
    """
    net = Network(problem, every, prices, limit, scope or problem.variables, pairs=pairs)
    _build(net, most)
    net.shared.have(net.shared.known(problem.lacked), net.rows)
    return net


def again(net: Network) -> Network:
    """The program with the prices that are known now, which say other copies to be made in one."""
    anew = Network(net.problem, net.every, net.prices, net.limit, net.scope)
    _build(anew)
    anew.shared.have(net.shared.cuts, anew.rows)
    return anew


def _build(net: Network, most: float = inf) -> None:
    """Its columns and rows, but for those that other programs lacked."""
    problem, every = net.problem, net.every
    _operations(net, every.choices)
    for slot, held in every.layouts.items():
        _slot(net, slot, held)
    touched = dict.fromkeys(value for variable in net.scope for value in variable.touched)
    values = [value for value in touched if value not in problem.free]
    for start in range(0, len(values), AT_ONCE):
        if net.size <= most:
            _values(net, values[start : start + AT_ONCE], most)
    given = [problem.own_cost(v, v.choice) for v in net.scope if v not in every.choices]
    net.ticks[ONE], net.count[ONE] = sum(ticks for ticks, _ in given), sum(count for _, count in given)


def part(
    problem: Problem,
    inside: Every,
    outside: dict[Variable, list[Choice]],
    values: Iterable[int],
    prices: Prices,
) -> Network:
    """The program of the operations `inside`, which pays for the copies of some values.

    Each use of other operations may choose for itself how they run.
    """
    net = Network(problem, inside, prices, outside=outside)
    _operations(net, inside.choices)
    for slot, held in inside.layouts.items():
        _slot(net, slot, held)
    for value in values:
        _values(net, [value])
    return net


def _operations(net: Network, options: dict[Variable, list[Choice]]) -> None:
    """The column that is 1, and those of the operations."""
    net.row([net.column()], [], 1, 1)
    for variable, choices in options.items():
        columns = net.columns(True, *net.problem.own_costs(variable, choices))
        net.chosen[variable] = columns
        net.row(columns, [], 1, 1)


def _slot(net: Network, slot: Slot, layouts: list[Sharding]) -> None:
    """What a loop carries has one layout: before, at the start and end of the body, and after."""
    held: Columns = {layout: [net.column(integral=True)] for layout in layouts}
    net.row([column for (column,) in held.values()], [], 1, 1)
    net.tied[slot.loop, slot.index] = net.tied[slot.end, slot.index] = held
    net.carried.update(dict.fromkeys(slot.args, held))


def _values(net: Network, values: Iterable[int], most: float = inf) -> None:
    """The ways of some values; soon after `most` columns no more."""
    found = [each for value in values if (each := going(net, value)) is not None]
    look_up(net, found)
    for each in found:
        if net.size > most:
            return
        if len(each.needs) == 1:
            _transport(net, each)
        else:
            _shared(net, each)


def _transport(net: Network, value: Going) -> None:
    """One user: a flow from the given layout to the needed one."""
    made, given, (need,) = value.made, value.given, value.needs
    if value.one_end:
        for source, target in value.ways:
            columns = need[target] if len(given) == 1 else given[source]
            net.row([net.copy((made, source, target))], columns, 0, 0)
        return
    arcs = _direct(net, value)
    _conserve(net, arcs, net.copies(made, value.places, arcs), value.places, given, need)


def _direct(net: Network, value: Going) -> Arcs:
    """The copies that may be made, with prices, without those that two others do as well in turn, over one of
    the places in the middle.
    """
    made, places = value.made, value.places
    known = net.prices.direct.setdefault((made.type, made.context), {})
    if value.key not in known:
        size = len(places)
        ticks, count = net.prices.table(made.type, places, made.context, made.fused)
        # with latency collectives are part of the ticks
        direct = ~_in_two(ticks, count if net.prices.rates.flat else np.zeros_like(count), value.middle)
        direct[np.arange(size), np.arange(size)] = False
        sources, targets = np.divmod(np.flatnonzero(direct), size)
        known[value.key] = Arcs(sources, targets, ticks[direct], count[direct].astype(np.int64))
    arcs = known[value.key]
    return arcs if net.limit == inf else arcs.only(made.trips * arcs.ticks <= net.limit)


def _in_two(ticks: Matrix, count: Matrix, middle: int) -> NDArray[np.bool_]:
    """Which copies two others do as well in turn, over one of the first `middle` places.

    These are looked for among what is cheaper, or stands later in a list, so that none is left out for
    another that is left out for it.
    """
    size = len(ticks)
    rank = np.empty(size * size, dtype=np.int64)
    rank[np.lexsort((count.ravel(), ticks.ravel()))] = np.arange(size * size)
    rank = rank.reshape(size, size)
    np.fill_diagonal(rank, size * size)  # what stays where it is makes no way shorter
    found = np.zeros((size, size), dtype=np.bool_)
    step = max(1, TOGETHER // (size * middle))
    for first in range(0, size, step):
        here = slice(first, first + step)
        # by start, middle and end: whether the way over the middle costs no more, in parts that rank lower
        over = (ticks[here, :middle, None] + ticks[:middle]) * (1 - NEAR) <= ticks[here, None]
        over &= count[here, :middle, None] + count[:middle] <= count[here, None]
        over &= np.maximum(rank[here, :middle, None], rank[:middle]) < rank[here, None]
        over.any(axis=1, out=found[here])
    return found


def _conserve(
    net: Network,
    arcs: Arcs,
    flow: range,
    places: Sequence[Sharding],
    given: Columns,
    need: Columns,
) -> None:
    """What comes to a place goes on, from the given layout to the needed one."""
    first = net.rows.open(len(places), 0, 0)
    at = {place: first + number for number, place in enumerate(places)}
    for place, columns in given.items():
        net.rows.put([at[place]] * len(columns), columns, 1)
    for place, columns in need.items():
        net.rows.put([at[place]] * len(columns), columns, -1)
    net.rows.put_range(first + arcs.sources, flow, -1)
    net.rows.put_range(first + arcs.targets, flow, 1)


def _shared(net: Network, value: Going) -> None:
    """Several users: copies that are made once, one of a layout at most, and none for nobody."""
    given, needs, places, wanted = value.given, value.needs, value.places, value.places[: value.middle]
    arcs = _direct(net, value)
    arcs = arcs.only(arcs.targets < len(wanted))
    copies = net.copies(value.made, places, arcs, integral=True)
    # of each wanted layout two rows: a copy of it is for somebody, and there is one of it at most
    first = net.rows.open(2 * len(wanted), -inf, 0)
    net.rows.high[first + 1 :: 2] = [1] * len(wanted)
    at = {target: first + 2 * number for number, target in enumerate(wanted)}
    for need in needs:
        for target, columns in need.items():
            net.rows.put([at[target]] * len(columns), columns, -1)
    for target, columns in given.items():
        if target in at:
            net.rows.put([at[target] + 1] * len(columns), columns, 1)
    for add in (0, 1):
        net.rows.put_range(first + 2 * arcs.targets + add, copies, 1)
    going = arcs.sources < len(wanted)
    net.rows.put_range(first + 2 * arcs.sources[going], np.arange(copies.start, copies.stop)[going], -1)
    number = {place: at for at, place in enumerate(places)}
    ends = [{number[place]: columns for place, columns in each.items()} for each in (given, *needs)]
    for need in ends[1:]:
        # of each layout that a user needs: it is given, or somebody makes a copy of it
        at = np.full(len(places), -1)
        at[[*need]] = np.arange(len(need)) + net.rows.open(len(need), 0, inf)
        for place, columns in need.items():
            net.rows.put([int(at[place])] * len(columns), columns, -1)
        for place, columns in ends[0].items():
            if place in need:
                net.rows.put([int(at[place])] * len(columns), columns, 1)
        into = at[arcs.targets] >= 0
        net.rows.put_range(at[arcs.targets[into]], np.arange(copies.start, copies.stop)[into], 1)
    net.share(Shared(len(places), copies.start, arcs.sources, arcs.targets, ends[0], ends[1:]))
