"""Which collectives become one on a machine with latency, so that the planner can count on it.

The planner prices collectives one by one; the pass combine-collectives makes one of several later. Sixteen
sums of gradients look sixteen times as late as they are, and plans without them look better. So the program
is planned for one ring without latency too, where plans have few collectives, and those that can wait for
each other: what is combined there pays its share of the latency, and with these shares the program is planned
again. Of the three plans that is taken with which the whole program is quickest.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.passes.pipeline import Options as ByPass
from shardc.passes.pipeline import run_to, saying
from shardc.planning.machines import Combined, Machine, combined
from shardc.report.times import estimate
from shardc.report.traffic import collectives

PLANS, COMBINES = "insert-reshards", "combine-collectives"


def with_shares(module: ModuleOp, machine: Machine, options: ByPass) -> ByPass:
    """The options of passes with which a module takes least on a machine: the given ones, or these and that
    the plan is for a ring, or the shares of what is combined there. `options` have the pass that combines."""
    start, found = module.clone(), list[Combined]()
    with collecting():
        run_to(make_context(), start, "sharded", options=options)
    own, many = _took(start.clone(), machine, options, found.append)
    if many < 2:
        return options
    found.clear()
    ring = saying(options, PLANS, ring=True)
    taken = {own: options, _took(start.clone(), machine, ring, found.append)[0]: ring}
    shares = combined(found)
    if shares:
        shared = saying(options, PLANS, shares=shares)
        taken[_took(start, machine, shared, found.append)[0]] = shared
    return options if min(taken) == own else taken[min(taken)]


def _took(
    module: ModuleOp, machine: Machine, options: ByPass, told: Callable[[Combined], None]
) -> tuple[int, int]:
    """Nanoseconds that a propagated module takes, and how many collectives it has before any are combined.

    `told` is given what is combined.
    """
    counts: list[Combined] = []

    def both(each: Combined) -> None:
        counts.append(each)
        told(each)

    with collecting():
        run_to(make_context(), module, "local", "sharded", saying(options, COMBINES, told=both))
        program = per_device.read(snapshot(module).graph)
    took = estimate(machine, program, collectives(program), 0).total_ns
    return took, sum(each.before for each in counts)
