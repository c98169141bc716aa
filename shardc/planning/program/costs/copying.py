"""How copies of a value are made on a machine, and what they take.

Without latency and on one kind of link bytes alone say which copies are the cheapest. Else their time does: a
copy is made in the quickest way (quickest.py) where that takes up to three quarters of the time of the one
that sends the fewest bytes, and of several copies the tree is the one that takes least.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

from shardc.analysis.phases import Context, Phase
from shardc.graph import TensorType
from shardc.layout import Axis, Mesh, Sharding
from shardc.planning.program.costs.quickest import Quickest
from shardc.planning.reshard.copies import (
    MadeCopy,
    Way,
    at_once,
    cheapest,
    copies,
    cost_of,
    direct,
    price,
)
from shardc.planning.reshard.steps import ReshardStep

START = 10**3  # femtoseconds to start a collective: of equally quick plans, that with fewer is the quickest

Copied = tuple[TensorType, Context, bool]
"""A tensor, what is around it, and whether it is in memory only where it is sent."""


class Copying(ABC):
    """A mesh on a machine of which a second has `tick` ticks. byte: the ticks of one, where bytes alone say
    how long a collective takes; 0 where not. longer: whether a collective takes the longer of latency and
    bytes; else their sum. written: ticks to write a byte."""

    def __init__(self, mesh: Mesh, byte: int, free: bool, longer: bool, written: float) -> None:
        self.mesh, self.byte, self.free, self.longer, self.written = mesh, byte, free, longer, written
        self._copies: dict[tuple[object, ...], tuple[int, int, int]] = {}
        self._made: dict[tuple[object, ...], tuple[MadeCopy, ...]] = {}
        self._ways: dict[tuple[object, ...], Way] = {}
        self._quickest: dict[tuple[int, Phase], Quickest] = {}

    @property
    def flat(self) -> bool:
        """Whether bytes alone say how long a collective takes."""
        return self.byte > 0

    @abstractmethod
    def step(self, type: TensorType, before: Sharding, step: ReshardStep, phase: Phase) -> int:
        """Ticks of a step of a change of layout."""

    @abstractmethod
    def cut(self, type: TensorType, source: Sharding, target: Sharding) -> int:
        """Ticks to write a value that is sent between operations that were one, and to read what comes."""

    @abstractmethod
    def taken(self, phase: Phase, kind: str, over: tuple[Axis, ...]) -> tuple[float, float, float]:
        """Of a collective over whole axes the ticks before its first byte, those of each byte, and those of
        each byte where it takes the longer of the two; 0 of what sends nothing."""

    def copies(
        self,
        type: TensorType,
        given: Sharding,
        needs: tuple[Sharding, ...],
        context: Context,
        fused: bool = False,
    ) -> tuple[int, int, int]:
        """Ticks, collectives and steps of making all these copies of a value once, which is `fused`."""
        if self.free:
            moved, collectives, steps = price(type, given, needs, context.manual)
            return self.byte * moved, collectives, steps
        key = (type, given, needs, context, fused)
        if key not in self._copies:
            made = self.made(type, given, needs, context, fused)
            _, collectives, steps = cost_of(made)
            ticks = sum([self._ticks((type, context, fused), each) for each in made])
            self._copies[key] = ticks, collectives, steps
        return self._copies[key]

    def made(
        self,
        type: TensorType,
        given: Sharding,
        needs: tuple[Sharding, ...],
        context: Context,
        fused: bool = False,
    ) -> tuple[MadeCopy, ...]:
        """How these copies of a value are made: in the fewest ticks, as far as is looked."""
        if self.flat:
            return copies(type, given, needs, context.manual)
        of = type, context, fused
        if len(needs) == 1:
            return self._way(of, given, needs[0])
        key = (*of, given, needs)
        if key not in self._made:
            way, cost = partial(self._way, of), partial(self._cost, of)
            self._made[key] = cheapest(given, needs, way, cost)
        return self._made[key]

    def _cost(self, of: Copied, copy: MadeCopy) -> tuple[int, int]:
        return self._ticks(of, copy), copy[2].cost.steps

    def _ticks(self, of: Copied, copy: MadeCopy) -> int:
        """Of all steps of a copy."""
        type, context, fused = of
        before, target, plan = copy
        ticks = START * plan.cost.steps + (self.cut(type, before, target) if fused and plan.cost.steps else 0)
        for step in plan.steps:
            ticks += self.step(type, before, step, context.phase)
            before = step.result
        return ticks

    def _way(self, of: Copied, source: Sharding, target: Sharding) -> Way:
        """The copies one after the other that lead from one layout to another."""
        key = (*of, source, target)
        if key not in self._ways:
            self._ways[key] = self._quicker(of, direct(of[0], source, target, of[1].manual))
        return self._ways[key]

    def _quicker(self, of: Copied, way: Way) -> Way:
        """The quickest way, if it is by a quarter quicker than one copy."""
        type, context, _ = of
        ((source, target, plan),) = way
        if plan.cost.steps < 2 or context.manual:
            return way
        most = 3 * self._ticks(of, way[0]) // 4
        quicker = list[MadeCopy]()
        for step in self._quickest_of(type.rank, context.phase).steps(type, source, target, most):
            quicker += at_once(type, source, step)
            source = step.result
        if not quicker or sum([self._ticks(of, copy) for copy in quicker]) > most:
            return way
        *before, (last, _, plan) = quicker
        return (*before, (last, target, plan))

    def _quickest_of(self, rank: int, phase: Phase) -> Quickest:
        if (rank, phase) not in self._quickest:
            times = partial(self.taken, phase)
            self._quickest[rank, phase] = Quickest(self.mesh, rank, times, self.written, self.longer)
        return self._quickest[rank, phase]
