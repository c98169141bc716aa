"""What a program costs each device, and which changes of annotations would make it less."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.annotations import annotated, stated
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.graph import Graph
from shardc.layout import LayoutError
from shardc.passes.pipeline import PIPELINE, run_between, run_to, saying
from shardc.passes.pipeline import Options as ByPass
from shardc.passes.running import FOLDING
from shardc.planning.effort import counting
from shardc.planning.machines import Machine
from shardc.planning.program import Plan
from shardc.report.cost import Cost, cost_of
from shardc.report.memory import Peak
from shardc.report.placement import Placement
from shardc.report.removal import Trial, with_removals
from shardc.report.repeated import repeated_work
from shardc.report.tries import Tries


def cost_module(
    module: ModuleOp,
    peak: Callable[[Graph], Peak],
    options: ByPass | None = None,
    machine: Machine | None = None,
    tries: int | None = None,
    placement: Placement | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Cost:
    """What a module costs when it is compiled with these options of passes. ShardcError if it is wrong.

    peak: says when the written program holds most in memory (shardc.backend.numpy.peak). tries: how many
    changes of annotations are compiled to find those that remove a collective; by default fewer, the larger
    the program and the harder to plan. placement: what was found of the
    module's links. tell: is told how far this is, before each of them.
    """
    start, plans = module.clone(), list[Plan]()
    with counting() as effort:
        run_to(
            make_context(),
            module,
            "local",
            options=saying(options or {}, "insert-reshards", told=plans.append),
        )
    graph = snapshot(module).graph
    cost = replace(cost_of(graph, peak(graph), machine), placement=placement)
    if plans:
        cost = replace(cost, repeated=repeated_work(plans[-1]))
    if not cost.collectives:
        return cost
    allowed = Tries.of(tries, snapshot(start).graph, effort)
    if not allowed.more():
        return cost
    return _with_removals(start, cost, peak, options, allowed, tell)


def _with_removals(
    module: ModuleOp,
    cost: Cost,
    peak: Callable[[Graph], Peak],
    options: ByPass | None,
    tries: Tries,
    tell: Callable[[str], None],
) -> Cost:
    """Try changes on the module as it is before propagation, where every annotation is in main."""
    run_between(module, PIPELINE[0].name, FOLDING[0])
    known = stated(module)
    mesh = next((a.sharding.mesh for a in known if a.sharding is not None), None)
    if mesh is None:
        return cost

    def price(trial: Trial) -> Cost | None:
        tell(f"trying changes of annotations: {tries.done}, at most {tries.most}")
        changed = annotated(module, known[trial.annotation], trial.sharding)
        try:
            with collecting():
                run_to(make_context(), changed, "local", options=options)
                graph = snapshot(changed).graph
                return cost_of(graph, peak(graph))
        except (ShardcError, LayoutError):
            return None

    return with_removals(cost, mesh, known, price, tries)
