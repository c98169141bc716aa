"""Whether a plan is the cheapest there is, shown without a solver: for small programs, most of which are.

Operations are decided in program order. What is left of the decisions so far are the layouts of the values
that are still used, and what their copies take; of equal ones the cheapest is kept, and none is kept that no
further decisions could make cheaper than the plan at hand. Each value pays for the dearest of its copies
alone, at lower bounds (prices.py), so no plan costs less than it is taken to.
"""

from __future__ import annotations

from math import ceil

from shardc.analysis.manual import NO_AXES
from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.network import Network, Produced
from shardc.planning.program.variables import Total, Variable, work_of

STEPS = 40_000  # pairs of decisions and a choice: a tenth of a second, less than it takes to import a solver
LIVE = 8  # values still used that are copied as quickly as a pair is weighed
BITS = 64  # of each part of a cost

_Left = dict[int, tuple[Sharding, int]]
"""For each value that is still used: its layout, and what its copies take so far."""

_State = tuple[tuple[int, tuple[Sharding, int]], ...]
"""The same, as a key."""


def nothing_cheaper(net: Network, known: Total) -> bool:
    """Whether it is shown that no plan of the network costs less than `known`, in all parts but the last.

    False says nothing: the program has loops that carry values, or much to choose from.
    """
    if net.problem.slots or any(abs(part) >> (BITS - 4) for part in known):
        return False
    return _Search(net).without(_number(known[:5]))


class _Search:
    """The decisions of a program's operations, in program order."""

    def __init__(self, net: Network) -> None:
        self.net, self.problem = net, net.problem
        self.arcs: dict[tuple[int, Sharding, Sharding], int] = {}
        self.last = {
            value: place
            for place, variable in enumerate(self.problem.variables)
            for value in variable.node.operands
            if value not in self.problem.free
        }

    def without(self, limit: int) -> bool:
        """Whether there are no decisions that cost less than the limit."""
        order = self.problem.variables
        choices = [
            [(self._own(v, choice), choice) for choice in self.net.options.get(v, [v.choice])] for v in order
        ]
        rest = sum(min(own for own, _ in options) for options in choices)
        given = {v: (layout, 0) for v, (layout, _) in self.problem.arguments.items() if v in self.last}
        states: dict[_State, int] = {tuple(given.items()): 0}
        steps = 0
        for place, (variable, options) in enumerate(zip(order, choices, strict=True)):
            rest -= min(own for own, _ in options)
            live = max(map(len, states), default=0)
            steps += len(states) * len(options) * (1 + live // LIVE)
            if steps > STEPS:
                return False
            found: dict[_State, int] = {}
            for state, before in states.items():
                for own, choice in options:
                    if before + own + rest < limit:
                        left = dict(state)
                        cost = before + own + self._copies(left, variable, choice)
                        after = self._after(left, place, variable, choice)
                        if cost + rest < found.get(after, limit + rest):
                            found[after] = cost
            states = found
        return not states

    def _own(self, variable: Variable, choice: Choice) -> int:
        """What an operation itself costs, run so."""
        ticks, count = self.problem.own_cost(variable, choice)
        work = variable.trips * work_of(variable, choice)
        ticks += self.problem.toll * count
        return _number((ticks, count, count, work, -sum(len(result.unreduced) for result in choice.results)))

    def _copies(self, left: _Left, variable: Variable, choice: Choice) -> int:
        """What an operation's needs add to the copies of its operands, which are in `left` afterwards."""
        results, added = variable.node.results, 0
        if results and self.problem.free.issuperset(results):
            return 0
        for value, need in zip(variable.node.operands, choice.operands, strict=True):
            if value in left:
                layout, paid = left[value]
                cost = self._arc(value, layout, need)
                if cost > paid:
                    left[value] = layout, cost
                    added += cost - paid
        return added

    def _after(self, left: _Left, place: int, variable: Variable, choice: Choice) -> _State:
        """What is left once an operation is decided."""
        results = zip(variable.node.results, choice.results, strict=True)
        made = [(value, (layout, 0)) for value, layout in results if self.last.get(value, -1) > place]
        return (*((value, at) for value, at in left.items() if self.last[value] > place), *made)

    def _arc(self, value: int, source: Sharding, target: Sharding) -> int:
        """What a copy of a value costs at least."""
        if source == target:
            return 0
        key = value, source, target
        if key not in self.arcs:
            problem, trips = self.problem, self.problem.trips(value)
            manual, fused = problem.manual.get(value, NO_AXES), value in problem.fused
            made = Produced(problem.graph.type(value), trips, manual, fused)
            ticks, count = self.net.price((made, source, target))
            least = trips * max(0, ceil(ticks - 1e-9 * ticks - 1e-3)) if ticks < 2.0**BITS else 2**BITS
            least += problem.toll * trips * count
            self.arcs[key] = _number((least, trips * count, trips * max(1, count), 0, 0))
        return self.arcs[key]


def _number(cost: tuple[int, ...]) -> int:
    """A cost as one number; its parts are below 2 ** (BITS - 1), and numbers compare as costs do."""
    number = 0
    for part in cost:
        number = (number << BITS) + part
    return number
