"""Plans of one program, each priced with all that passes make of it on a machine with latency.

The planner prices collectives one by one, and passes make one of several later. So what a plan takes is known
once a device's program is made of it. Where equal layers were taken out, few stand for all (few_layers.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.collector import no_garbage_collection
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import snapshot
from shardc.passes.combine_collectives import CombineCollectives
from shardc.passes.insert_reshards import Planned
from shardc.passes.pipeline import (
    COMPUTING,
    PASSES,
    PLANNING,
    PREPARING,
    READING,
    across,
    prepare,
    run_to,
    saying,
)
from shardc.passes.pipeline import Options as ByPass
from shardc.planning.machines import Combined, Machine
from shardc.planning.machines.shares import learn
from shardc.planning.program import Counted, Plan
from shardc.report.few_layers import priced
from shardc.report.times import estimate
from shardc.report.traffic import collectives

COMBINES = "combine-collectives"

SENDING = COMBINES, "stage-collectives", "stack-exchanges"
"""The passes that say which collectives are sent as one."""

NANO = 10**6
"""Femtoseconds."""


class Tried(Struct, frozen=True):
    """A plan: the options of passes that make it, the nanoseconds that the whole program takes, what was
    combined, how many of the nanoseconds are `spent` on collectives over which mesh axes, and about how many
    are left without latency (`bare`; 0 where that is not known)."""

    options: ByPass
    took: int
    found: tuple[Combined, ...]
    spent: Mapping[tuple[str, ...], int] = {}
    bare: int = 0

    @property
    def chain(self) -> tuple[Counted, ...]:
        """What a search that begins at this plan comes after: nothing where every search begins there."""
        chain: tuple[Counted, ...] = self.options[PLANNING]["counted"]
        return chain if chain[-1].begun else ()

    def without(self, axes: Collection[str]) -> int:
        """The nanoseconds that are left without the collectives over any of these axes."""
        return self.took - sum(ns for over, ns in self.spent.items() if not {*over}.isdisjoint(axes))


class SlowError(Exception):
    """A plan would take too long."""


class _Again(Exception):
    """A plan that was priced before."""

    def __init__(self, decided: Hashable) -> None:
        self.decided = decided


class Trials:
    """Plans of a module on a machine, by passes with these options."""

    def __init__(self, module: ModuleOp, machine: Machine, options: ByPass) -> None:
        self.options, self._known = options, dict[Hashable, Tried]()
        self._start = module.clone()
        with collecting():
            few = not prepare(self._start, options)
        self._way: Callable[[ModuleOp, ByPass, _Told], Tried]
        if few and not {*across(options)} <= {*SENDING}:
            self._start, self._way = module, partial(_tried, machine, None)
        else:
            lean = bool(options[PLANNING].get("lean"))
            planned = Planned(SharedGraph(self._start), machine, lean=lean)
            self._way = partial(_tried_with_few if few else _tried, machine, planned)

    def searched(self, shares: tuple[Combined, ...], begin: Tried) -> Tried:
        """What a search finds that begins at a plan and counts on these shares."""
        return self._of((*begin.chain, Counted(shares)))

    def placed(self, gathered: tuple[str, ...] = (), data_first: bool = False, most: float = inf) -> Tried:
        """A plan without a search, in whose place a search begins that counts on what became one in it.
        SlowError if it takes more than `most` nanoseconds without latency."""
        counted = Counted(search=False, gathered=gathered, data_first=data_first)
        found = self._of((counted,), most)
        chain = (replace(counted, shares=learn(found.found)),)
        return replace(found, options=saying(found.options, PLANNING, counted=chain))

    def _of(self, chain: tuple[Counted, ...], most: float = inf) -> Tried:
        """The last of these plans, of which each begins at the one before."""
        said = saying(self.options, PLANNING, counted=chain)
        try:
            with collecting(), no_garbage_collection():
                return self._way(self._start.clone(), said, _Told(self._known, most))
        except _Again as again:
            return replace(self._known[again.decided], options=said)


class _Told:
    """What is planned for a program: _Again where it is `known`, SlowError where it takes more than `most`
    nanoseconds without latency."""

    def __init__(self, known: dict[Hashable, Tried], most: float) -> None:
        self.known, self.most = known, most
        self.decided, self.bare = list[Hashable](), 0

    def told(self, plan: Plan) -> None:
        """Note a plan."""
        if plan.decided in self.known:
            raise _Again(plan.decided)
        self.decided.append(plan.decided)
        self.bare += plan.without_latency // NANO
        if self.bare > self.most:
            raise SlowError

    def priced(self, options: ByPass, *taken: Any) -> Tried:
        """What the plans that were noted come to, of which this is known."""
        tried = Tried(options, *taken, bare=self.bare)
        self.known.update(dict.fromkeys(self.decided, tried))
        return tried


def _tried(
    machine: Machine, planned: Planned | None, module: ModuleOp, options: ByPass, told: _Told
) -> Tried:
    """A module before planning, planned and priced. One that is as it was read has equal layers taken out and
    put back, and nobody is told a plan: what passes made of it is then found again.

    It is not verified: the program of the plan that is taken is made once more."""
    found = list[Combined]()
    passes, stage, without = saying(options, COMBINES, told=found.append), "ir", ()
    if planned is not None:
        passes = saying(passes, PLANNING, told=told.told, planned=planned)
        stage, without = "sharded", (*PREPARING, *READING)
    run_to(make_context(), module, "local", stage, passes, without=without, verified=False)
    program = per_device.read(snapshot(module).graph)
    sent = collectives(program)
    times, spent = estimate(machine, program, sent, 0), Counter[tuple[str, ...]]()
    for each, time in zip(sent, times.collectives, strict=True):
        spent[tuple(axis.name for axis in each.over)] += time.total_ns
    return told.priced(options, times.total_ns, tuple(found), spent)


def _tried_with_few(
    machine: Machine, planned: Planned, module: ModuleOp, options: ByPass, told: _Told
) -> Tried:
    """The same of a module that few of many equal layers stand for: they are not put back."""
    limit = options[COMBINES].get("bytes", CombineCollectives.bytes)
    passes = saying(options, PLANNING, told=told.told, planned=planned)
    without = *PREPARING, *READING, *SENDING
    run_to(make_context(), module, "local", "sharded", passes, without=without, verified=False)
    sending = [PASSES[name]()(**options[name]) for name in SENDING if name in options]
    return told.priced(options, *priced(module, machine, limit, [*sending, PASSES[COMPUTING]()()]))
