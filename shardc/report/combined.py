"""Which collectives become one on a machine with latency, so that the planner can count on it.

The planner prices collectives one by one; the pass combine-collectives makes one of several later. Sixteen
sums of gradients look sixteen times as late as they are, and plans without them look better. What will become
one depends on the plan. So the program is planned several times, as if all collectives of some kinds were
four that become one over each axis, and for one ring without latency, where plans have few collectives. Of
the plans that is taken with which the whole program is quickest, all combined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.ops import spmd
from shardc.ops.definition import OpDef
from shardc.passes.fold_layers import WORTH
from shardc.passes.pipeline import Options as ByPass
from shardc.passes.pipeline import run_to, saying
from shardc.planning.machines import Combined, Machine
from shardc.report.times import estimate
from shardc.report.traffic import collectives

PLANS, COMBINES = "insert-reshards", "combine-collectives"

OWN, RING, GRADIENTS = "own", "ring", "gradients"
SUMS, MOVES = (spmd.all_reduce,), (spmd.all_gather, spmd.reduce_scatter)
SHARED: dict[str, dict[tuple[OpDef, ...], int]] = {
    "sums": {SUMS: 4},
    "moves": {MOVES: 4},
    "all": {SUMS: 4, MOVES: 4},
    GRADIENTS: {SUMS: 16, MOVES: 4},
}
"""Which collectives share latency in a plan, and how many of them are taken for one: of the sums of gradients
in a step of training, all."""

SMALL = 200
"""Operations of a program that is planned in so little time that all plans are made."""


@dataclass(frozen=True)
class Tried:
    """A plan: the options of passes that make it, the nanoseconds that the whole program takes, and what was
    combined."""

    options: ByPass
    took: int
    found: tuple[Combined, ...]


def with_shares(module: ModuleOp, machine: Machine, options: ByPass) -> ByPass:
    """The options of passes with which a module takes least on a machine: the given ones, or these and what
    another plan counts on. `options` have the pass that combines."""
    return min((plan for _, plan in plans(module, machine, options)), key=lambda plan: plan.took).options


def plans(module: ModuleOp, machine: Machine, options: ByPass) -> Iterator[tuple[str, Tried]]:
    """The plans, by name: OWN, those of SHARED, and RING; OWN alone where it has no two collectives, OWN and
    GRADIENTS of a program of more than SMALL operations."""
    start, stage, size = module.clone(), "ir", sum(1 for _ in module.walk())
    if size < WORTH:  # else equal layers are taken out, on the way from ir alone
        stage = "sharded"
        with collecting():
            run_to(make_context(), start, stage, options=options)
    own = _tried(start.clone(), machine, options, stage)
    yield OWN, own
    if sum(each.before for each in own.found) < 2:
        return
    axes = sorted({axis for mesh in snapshot(module).graph.meshes.values() for axis in mesh.sizes})
    for name in SHARED if size <= SMALL else (GRADIENTS,):
        shares = tuple(
            Combined(str(kind.title), (axis,), count, 1)
            for kinds, count in SHARED[name].items()
            for kind in kinds
            for axis in axes
        )
        yield name, _tried(start.clone(), machine, saying(options, PLANS, shares=shares), stage)
    if size <= SMALL:
        yield RING, _tried(start, machine, saying(options, PLANS, ring=True), stage)


def _tried(module: ModuleOp, machine: Machine, options: ByPass, stage: str) -> Tried:
    """A module at a stage before planning, planned and priced."""
    found: list[Combined] = []
    with collecting():
        run_to(make_context(), module, "local", stage, saying(options, COMBINES, told=found.append))
        program = per_device.read(snapshot(module).graph)
    took = estimate(machine, program, collectives(program), 0).total_ns
    return Tried(options, took, tuple(found))
