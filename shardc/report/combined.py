"""Which collectives become one on a machine with latency, so that the planner can count on it.

The planner prices collectives one by one; the pass combine-collectives makes one of several later. Sixteen
sums of gradients look sixteen times as late as they are, and plans without them look better. So the program
is planned for one ring without latency too, where plans have few collectives, and those that can wait for
each other: what is combined there pays its share of the latency, and with these shares the program is planned
again. Of the three plans that is taken with which the whole program is quickest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.passes.fold_layers import WORTH
from shardc.passes.pipeline import Options as ByPass
from shardc.passes.pipeline import run_to, saying
from shardc.planning.machines import Combined, Machine, combined
from shardc.report.times import estimate
from shardc.report.traffic import collectives

PLANS, COMBINES = "insert-reshards", "combine-collectives"


@dataclass(frozen=True)
class Tried:
    """A plan: the options of passes that make it, the nanoseconds that the whole program takes, and what was
    combined."""

    options: ByPass
    took: int
    found: tuple[Combined, ...]


def with_shares(module: ModuleOp, machine: Machine, options: ByPass) -> ByPass:
    """The options of passes with which a module takes least on a machine: the given ones, or these and that
    the plan is for a ring, or the shares of what is combined there. `options` have the pass that combines."""
    own, *others = (plan for _, plan in plans(module, machine, options))
    return min((own, *reversed(others)), key=lambda plan: plan.took).options


def plans(module: ModuleOp, machine: Machine, options: ByPass) -> Iterator[tuple[str, Tried]]:
    """The three plans, by name: own, ring and shares; the first alone where no two collectives are alike, and
    the first two where most stay alone."""
    start, stage = module.clone(), "ir"
    if sum(1 for _ in module.walk()) < WORTH:  # else equal layers are taken out, on the way from ir alone
        stage = "sharded"
        with collecting():
            run_to(make_context(), start, stage, options=options)
    own = _tried(start.clone(), machine, options, stage)
    yield "own", own
    if sum(each.before for each in own.found) < 2:
        return
    ring = _tried(start.clone(), machine, saying(options, PLANS, ring=True), stage)
    yield "ring", ring
    shares = combined(ring.found)
    if shares:
        yield "shares", _tried(start, machine, saying(options, PLANS, shares=shares), stage)


def _tried(module: ModuleOp, machine: Machine, options: ByPass, stage: str) -> Tried:
    """A module at a stage before planning, planned and priced."""
    found: list[Combined] = []
    with collecting():
        run_to(make_context(), module, "local", stage, saying(options, COMBINES, told=found.append))
        program = per_device.read(snapshot(module).graph)
    took = estimate(machine, program, collectives(program), 0).total_ns
    return Tried(options, took, tuple(found))
