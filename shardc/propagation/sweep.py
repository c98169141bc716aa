"""One sweep: visit links until nothing changes, in the order of MLIR's greedy rewriter.

All links are visited once in program order, and a link next to a place that changed is visited again before
the rest. Equal visits (same rule, directions and shardings) are computed once: shardings are numbered, and
the outcome is kept under those numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from shardc.layout import Sharding
from shardc.propagation.direction import Direction, Directions
from shardc.propagation.flow import Flow, Link
from shardc.propagation.priorities import directions, is_elementwise
from shardc.propagation.step import Strategy, Visit, step

OnChange = Callable[[Link, int, "Sharding | None", Sharding], None]
"""Told a link, the tensor of it (operands first) that changed, and its sharding before and after."""


class SweepState:
    """The sharding of every place of a flow as propagation goes on.

    `on_change` is called for every change that a link makes.
    """

    def __init__(self, flow: Flow, whole_axes: bool = False, on_change: OnChange | None = None) -> None:
        self.flow = flow
        self._whole_axes = whole_axes
        self._on_change = on_change
        self._known: list[Sharding | None] = [None]
        self._number: dict[Sharding, int] = {}
        self._current = [self._number_of(sharding) for sharding in flow.start]
        self._visits: list[Visit] = []
        self._visit_number: dict[object, int] = {}
        self._outcomes: dict[Strategy, dict[tuple[int, ...], tuple[tuple[int, int], ...]]] = {
            strategy: {} for strategy in Strategy
        }

    def __getitem__(self, place: int) -> Sharding | None:
        return self._known[self._current[place]]

    def __setitem__(self, place: int, sharding: Sharding | None) -> None:
        self._current[place] = self._number_of(sharding)

    def sweep(self, strategy: Strategy, round: int | None) -> None:
        """Propagate until nothing changes, with the directions that a round of op priorities allows."""
        self._returns(strategy)
        visits = [self._visit_of(link, round) for link in self.flow.links]
        self._visit_all(strategy, visits, round)
        self._returns(strategy)

    def _visit_all(self, strategy: Strategy, visits: list[int], round: int | None) -> None:
        flow, current, outcomes = self.flow, self._current, self._outcomes[strategy]
        tensors = [link.tensors for link in flow.links]
        dead = flow.dead
        waiting = [number for number in range(len(tensors) - 1, -1, -1) if number not in dead.gone]
        queued = bytearray(b"\1") * len(tensors)
        while waiting:
            number = waiting.pop()
            if number in dead.users and self._removed(number, waiting, queued, visits, round):
                continue
            queued[number] = 0
            places = tensors[number]
            key = (visits[number], *[current[place] for place in places])
            updates = outcomes.get(key)
            if updates is None:
                updates = outcomes[key] = self._compute(strategy, key)
            for tensor, sharding in updates:
                place = places[tensor]
                if self._on_change is not None:
                    self._tell(flow.links[number], tensor, sharding)
                for member in (place, *flow.peers.get(place, ())):
                    current[member] = sharding
                    for other in flow.touches[member]:
                        if not queued[other] and other != number:
                            queued[other] = 1
                            waiting.append(other)

    def _tell(self, link: Link, tensor: int, sharding: int) -> None:
        after = self._known[sharding]
        if self._on_change is not None and after is not None:
            self._on_change(link, tensor, self[link.tensors[tensor]], after)

    def _removed(
        self, number: int, waiting: list[int], queued: bytearray, visits: list[int], round: int | None
    ) -> bool:
        """Remove a dead link if that is possible by now. It stays marked as queued, so nobody queues it."""
        dead = self.flow.dead
        if not dead.remove(number):
            return False
        for maker in dead.revisited(number):
            if not queued[maker]:
                queued[maker] = 1
                waiting.append(maker)
        for link in dead.frees.get(number, ()):
            visits[link] = self._visit_of(self.flow.links[link], round)
        return True

    def _compute(self, strategy: Strategy, key: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        visit, *shardings = key
        updates = step(self._visits[visit], [self._known[number] for number in shardings], strategy)
        return tuple((tensor, self._number_of(sharding)) for tensor, sharding in updates)

    def _returns(self, strategy: Strategy) -> None:
        """Tell returned values and results of the main function about each other."""
        for link in self.flow.returns:
            visit = self._number_visit(Visit(link.rule, (Direction.BOTH,) * len(link.rule.factors)))
            key = (visit, *[self._current[place] for place in link.tensors])
            for tensor, sharding in self._compute(strategy, key):
                place = link.tensors[tensor]
                self._tell(link, tensor, sharding)
                for member in (place, *self.flow.peers.get(place, ())):
                    self._current[member] = sharding

    def _visit_of(self, link: Link, round: int | None) -> int:
        """The number of a link's visit: of all links and rounds alike in what matters, the same."""
        shared = link.shared or any(user not in self.flow.dead.gone for user in link.shared_until)
        key = (id(link.rule), link.kind, link.fixed, link.border, round, shared)
        number = self._visit_number.get(key)
        if number is None:
            allowed = self._directions(link, round, shared)
            elementwise = is_elementwise(link.kind)
            same = (id(link.rule), allowed, elementwise, link.border)
            number = self._visit_number.get(same)
            if number is None:
                visit = Visit(link.rule, allowed, elementwise, link.border, self._whole_axes)
                number = self._visit_number[same] = self._number_visit(visit)
            self._visit_number[key] = number
        return number

    def _number_visit(self, visit: Visit) -> int:
        self._visits.append(visit)
        return len(self._visits) - 1

    @staticmethod
    def _directions(link: Link, round: int | None, shared: bool) -> Directions:
        if link.fixed is not None:
            return (link.fixed,) * len(link.rule.factors)
        return directions(link.rule, link.kind, round, shared)

    def _number_of(self, sharding: Sharding | None) -> int:
        if sharding is None:
            return 0
        number = self._number.get(sharding)
        if number is None:
            self._known.append(sharding)
            number = self._number[sharding] = len(self._known) - 1
        return number
