"""How copies of a value are made on a machine, and what they take.

Without latency and on one kind of link bytes alone say which copies are the cheapest. Else their time does: a
copy is made in the quickest way (quickest.py) where that takes up to fifteen sixteenths of the time of the
one that sends the fewest bytes, and of several copies the tree is the one that takes least. While plans of
large programs are looked for, all ways are the quickest ones over whole axes, which need no search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from copy import copy as copied
from functools import partial
from math import inf
from typing import Self

from shardc.analysis.phases import Context, Phase
from shardc.graph import TensorType
from shardc.layout import Axis, Mesh, Sharding
from shardc.planning.program.costs.chart import Exactly
from shardc.planning.program.costs.moving import Moving
from shardc.planning.program.costs.quickest import Charts, Quickest
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

WORTH = 15 / 16  # of the time of the one copy that sends the fewest bytes: what others take for less
START = 10**3  # femtoseconds to start a collective: of equally quick plans, that with fewer is the quickest


class Copying(ABC):
    """A mesh on a machine. byte: the ticks of one, where bytes alone say how long a collective takes; 0 where
    not. free: whether work takes no time. longer: whether a collective takes the longer of latency and
    bytes; else their sum. lean: each copy sends the fewest bytes."""

    def __init__(self, mesh: Mesh, byte: int, free: bool, longer: bool, lean: bool) -> None:
        self.mesh, self.byte, self.free, self.longer = mesh, byte, free, longer
        self.lean, self.whole = lean, False
        self._tensors: dict[tuple[TensorType, Context, bool], _Tensor] = {}
        self._quickest: dict[tuple[int, Phase], Quickest] = {}
        self._charts: Charts = {}
        self._moving: dict[int, Moving] = {}

    def over_whole_axes(self) -> Self:
        """The same, where changes of layout are over whole axes."""
        other = copied(self)
        other.whole, other._tensors = True, {}
        return other

    def anew(self) -> Self:
        """The same, of which nothing is known that depends on what collectives take."""
        other = copied(self)
        other._tensors, other._quickest = {}, {}
        return other

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

    @abstractmethod
    def links(self) -> Sequence[int]:
        """Of each mesh axis the number of the link that it spans, the quickest first."""

    @abstractmethod
    def alike(self, phase: Phase, axes: Sequence[Axis]) -> Hashable:
        """What tells how long collectives over some axes take in a phase."""

    @abstractmethod
    def exactly(self, phase: Phase, sent: Exactly, type: TensorType) -> float:
        """Ticks of a gather, scatter or sum of blocks of one size, or of making partial results."""

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
        known = self._tensor(type, context, fused)
        key = given, needs
        if key not in known.prices:
            made = self.made(type, given, needs, context, fused)
            _, collectives, steps = cost_of(made)
            known.prices[key] = sum([known.cost(copy)[0] for copy in made]), collectives, steps
        return known.prices[key]

    def made(
        self,
        type: TensorType,
        given: Sharding,
        needs: tuple[Sharding, ...],
        context: Context,
        fused: bool = False,
    ) -> Way:
        """How these copies of a value are made: in the fewest ticks, as far as is looked."""
        if self.flat:
            return copies(type, given, needs, context.manual)
        known = self._tensor(type, context, fused)
        if len(needs) == 1:
            return known.way(given, needs[0])
        key = given, needs
        if key not in known.trees:
            known.trees[key] = cheapest(given, needs, known.way, known.cost)
        return known.trees[key]

    def sent(self, type: TensorType, copy: MadeCopy, phase: Phase) -> int:
        """Ticks of the steps of a copy, one after the other."""
        at, _, plan = copy
        ticks = 0
        for step in plan.steps:
            ticks += self.step(type, at, step, phase)
            at = step.result
        return ticks

    def _tensor(self, type: TensorType, context: Context, fused: bool) -> _Tensor:
        key = type, context, fused
        if key not in self._tensors:
            self._tensors[key] = _Tensor(self, *key)
        return self._tensors[key]

    def quickest(self, rank: int, phase: Phase) -> Quickest:
        """The quickest ways of tensors of a rank."""
        if (rank, phase) not in self._quickest:
            if rank not in self._moving:
                self._moving[rank] = Moving(self.mesh, rank, self.links())
            times, exact = partial(self.taken, phase), partial(self.exactly, phase)
            known = self._charts, partial(self.alike, phase)
            self._quickest[rank, phase] = Quickest(self._moving[rank], times, exact, self.longer, *known)
        return self._quickest[rank, phase]


class _Tensor:
    """What is known of copies of equal tensors with equal surroundings, which may be `fused`: in memory only
    where they are sent."""

    def __init__(self, copying: Copying, type: TensorType, context: Context, fused: bool) -> None:
        self.copying, self.type, self.context, self.fused = copying, type, context, fused
        self.prices: dict[tuple[Sharding, tuple[Sharding, ...]], tuple[int, int, int]] = {}
        self.trees: dict[tuple[Sharding, tuple[Sharding, ...]], Way] = {}
        self._ways: dict[tuple[Sharding, Sharding], Way] = {}
        self._costs: dict[tuple[Sharding, Sharding, bool], tuple[int, int]] = {}

    def way(self, source: Sharding, target: Sharding) -> Way:
        """The copies one after the other that lead from one layout to another."""
        key = source, target
        if key not in self._ways:
            way = self._over_whole_axes(source, target, inf) if self.copying.whole else ()
            if not way:
                way = self._quicker(direct(self.type, source, target, self.context.manual))
            self._ways[key] = way
        return self._ways[key]

    def _over_whole_axes(self, source: Sharding, target: Sharding, most: float) -> Way:
        """The quickest copies, each of one collective; none if there are none or they take `most` ticks."""
        if self.context.manual:
            return ()
        quickest = self.copying.quickest(self.type.rank, self.context.phase)
        made, at = list[MadeCopy](), source
        for step in quickest.steps(self.type, source, target, most):
            made += at_once(self.type, at, step)
            at = step.result
        if not made:
            return ()
        *before, (last, _, plan) = made
        return (*before, (last, target, plan))

    def cost(self, copy: MadeCopy) -> tuple[int, int]:
        """Ticks and collectives of a copy."""
        source, target, plan = copy
        key = source, target, plan.at_once
        if key not in self._costs:
            ticks = START * plan.cost.steps
            if self.fused and plan.cost.steps:
                ticks += self.copying.cut(self.type, source, target)
            ticks += self.copying.sent(self.type, copy, self.context.phase)
            self._costs[key] = ticks, plan.cost.steps
        return self._costs[key]

    def _quicker(self, way: Way) -> Way:
        """The quickest way, if it is worth more copies than one."""
        ((source, target, plan),) = way
        if not plan.cost.steps or self.copying.lean:
            return way
        most = WORTH * self.cost(way[0])[0]
        quicker = self._over_whole_axes(source, target, most)
        if not quicker or sum([self.cost(copy)[0] for copy in quicker]) > most:
            return way
        return quicker
