"""The integer program of a planning problem, built: columns of operations and loops, then the ways of values.

A value goes from the layout it is given in to the layouts its users need. With one user that is a transport
problem: a column for each pair of layouts, whose sums are the columns of the choices. With several users
copies are shared: each is paid once however many users it leads to, and made only of layouts that some user
needs. That copies lead from the given layout to what each user needs is said by rows that are added where a
solution violates them (cuts.py). Both have linear relaxations that are exact on trees.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import numpy as np
from numpy.typing import NDArray

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.costs.prices import Arcs, Prices
from shardc.planning.program.integer.choices import Every
from shardc.planning.program.integer.cuts import Shared
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.integer.network import Columns, Network, Produced
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Slot, Variable
from shardc.planning.solvers import Matrix

NEAR = 1e-9  # of a price: what rounding may add
TOGETHER = 1 << 16  # ways over a place that are compared in one go
PLACES = 600  # of one value; more have more copies between them than a program may have columns
ONE = 0
"""The column that is always 1."""


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
    _operations(net, every.choices)
    for slot, held in every.layouts.items():
        _slot(net, slot, held)
    for value in dict.fromkeys(value for variable in net.scope for value in variable.touched):
        if value not in problem.free and net.size <= most:
            _value(net, value)
    given = [problem.own_cost(v, v.choice) for v in net.scope if v not in every.choices]
    net.ticks[ONE], net.count[ONE] = sum(ticks for ticks, _ in given), sum(count for _, count in given)
    return net


def again(net: Network) -> Network:
    """The program with the prices that are known now, which say other copies to be made in one."""
    anew = network(net.problem, net.every, net.prices, net.limit, scope=net.scope)
    anew.cut(net.cuts)
    return anew


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
        _value(net, value)
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


def _value(net: Network, value: int) -> None:
    problem = net.problem
    given = _given(net, value)
    uses: dict[int, list[list[tuple[Sharding, list[int]]]]] = {}
    needs: list[Columns] = []
    for variable, index in problem.consumers.get(value, []):
        if not problem.free.issuperset(variable.node.results) or not variable.node.results:
            need = _options(net, variable, index, operand=True)
            if len(given) > 1 or not need.keys() <= given.keys():
                columns = list(need.items())
                same = uses.setdefault(columns[0][1][0], [])
                if columns not in same:
                    same.append(columns)
                    needs.append(need)
    context, fused = problem.context(value), value in problem.fused
    made = Produced(problem.graph.type(value), problem.trips(value), context, fused)
    if len(needs) == 1:
        _transport(net, made, given, needs[0])
    elif needs:
        _shared(net, made, given, needs)


def _given(net: Network, value: int) -> Columns:
    if value in net.carried:
        return net.carried[value]
    if value in net.problem.arguments:
        return {net.problem.arguments[value][0]: [ONE]}
    variable, index = net.problem.producer[value]
    return _options(net, variable, index, operand=False)


def _options(net: Network, variable: Variable, index: int, operand: bool) -> Columns:
    """The layouts that a variable's choices give an operand or result."""
    if (variable, index) in net.tied:
        return net.tied[variable, index]
    if variable not in net.options:
        choices = net.outside.get(variable, [variable.choice])
        return _any(net, [_layouts(choice, operand)[index] for choice in choices])
    first = net.chosen[variable][0]
    groups = net.prices.groups(net.options[variable], index, operand)
    return {layout: [first + place for place in places] for layout, places in groups.items()}


def _layouts(choice: Choice, operand: bool) -> tuple[Sharding, ...]:
    return choice.operands if operand else choice.results


def _any(net: Network, layouts: Iterable[Sharding]) -> Columns:
    """Any one of some layouts, for whoever asks."""
    distinct = list(dict.fromkeys(layouts))
    if len(distinct) == 1:
        return {distinct[0]: [ONE]}
    found: Columns = {layout: [net.column()] for layout in distinct}
    net.row([column for (column,) in found.values()], [], 1, 1)
    return found


def _transport(net: Network, made: Produced, given: Columns, need: Columns) -> None:
    """One user: a flow from the given layout to the needed one."""
    if len(given) == 1 or len(need) == 1:
        ways = [(source, target) for source in given for target in need if source != target]
        net.prices.learn(made.type, ways, made.context)
        for source, target in ways:
            columns = need[target] if len(given) == 1 else given[source]
            net.row([net.copy((made, source, target))], columns, 0, 0)
        return
    places = list(dict.fromkeys([*given, *need]))
    arcs = _direct(net, made, places, len(places))
    _conserve(net, arcs, net.copies(made, places, arcs), places, given, need)


def _direct(net: Network, made: Produced, places: list[Sharding], middle: int) -> Arcs:
    """The copies that may be made, with prices, without those that two others do as well in turn, over one of
    the first `middle` places.
    """
    known = net.prices.direct.setdefault((made.type, made.context), {})
    key = (middle, made.fused, *places)
    if key not in known:
        size = len(places)
        if size > PLACES:
            raise TooMany
        net.priced(size)
        ticks, count = net.prices.table(made.type, places, made.context, made.fused)
        direct = ~_in_two(ticks, count, middle)
        direct[np.arange(size), np.arange(size)] = False
        sources, targets = np.divmod(np.flatnonzero(direct), size)
        known[key] = Arcs(sources, targets, ticks[direct], count[direct].astype(np.int64))
    arcs = known[key]
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
    places: list[Sharding],
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


def _shared(net: Network, made: Produced, given: Columns, needs: list[Columns]) -> None:
    """Several users: copies that are made once, one of a layout at most, and none for nobody."""
    wanted = dict.fromkeys(layout for need in needs for layout in need)
    places = list(dict.fromkeys([*wanted, *given]))
    arcs = _direct(net, made, places, len(wanted))
    arcs = arcs.only(arcs.targets < len(wanted))
    copies = net.copies(made, places, arcs, integral=True)
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
