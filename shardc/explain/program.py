"""Why the tensors of a program are split as they are: propagation with a recorder, then the plan."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis.phases import AFTER, BEFORE, BETWEEN, Phase
from shardc.analysis.text import name_of, title
from shardc.diagnostics import ShardcError, collecting, did_you_mean
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.explain.records import Explanation, PlanReport
from shardc.explain.why import Explainer
from shardc.layout import Sharding
from shardc.passes.insert_reshards import planned
from shardc.passes.pipeline import PIPELINE, PLANNING, run_between
from shardc.passes.propagate import read_custom_rules
from shardc.passes.running import FOLDING
from shardc.planning.machines import Machine
from shardc.planning.program import Counted, Plan, seconds_text
from shardc.propagation import Options, propagate
from shardc.propagation.provenance import Provenance, Recorder

WHEN: dict[Phase | None, str] = {
    None: "",
    BEFORE: " before all products",
    BETWEEN: " between products",
    AFTER: " after all products",
}
"""What is said of collectives of one phase."""


def explain_module(
    module: ModuleOp,
    name: str | None = None,
    machine: Machine | None = None,
    links: str | None = None,
    counted: tuple[Counted, ...] = (Counted(),),
) -> Explanation:
    """Propagate with a recorder, then plan for a machine, and explain the values of a name, or the program.

    `links` says which axes were put on which links, `counted` what the plan counts on to be combined
    (passes/insert_reshards.py).
    ShardcError if no value has that name.
    """
    explainer, found = explainer_of(module, machine, counted)
    if name is None:
        return replace(explainer.overview(), plan=_report(found[1]) if found else None, links=links)
    reports = explainer.named(name)
    if not reports:
        known = sorted({called for v in explainer.graph.values if (called := name_of(v.loc))})
        names = f"the names are: {', '.join(known[:20])}; a line's number works too"
        raise ShardcError(f"there is no tensor {name}", hint=did_you_mean(name, known, names))
    return Explanation(values=reports)


def explainer_of(
    module: ModuleOp, machine: Machine | None = None, counted: tuple[Counted, ...] = (Counted(),)
) -> tuple[Explainer, tuple[Snapshot, Plan] | None]:
    """Propagate with a recorder, then plan: what answers questions, and the plan, if there is one."""
    run_between(module, PIPELINE[0].name, FOLDING[0])
    snap = snapshot(module)
    read_custom_rules(snap)
    recorder = Recorder()
    result = propagate(snap.graph, Options(moved_constants=True), on_change=recorder)
    found = _planned(snap, machine, counted)
    provenance = Provenance(result, recorder)
    return Explainer(snap.graph, provenance, _layouts(snap, found) if found else {}), found


def _planned(
    snap: Snapshot, machine: Machine | None, counted: tuple[Counted, ...]
) -> tuple[Snapshot, Plan] | None:
    """What the planner makes of the program; None if it cannot be planned, or need not."""
    try:
        with collecting():
            run_between(snap.module, "propagate", PLANNING)
            return planned(snap.module, machine, counted)
    except ShardcError:
        return None


def _layouts(snap: Snapshot, found: tuple[Snapshot, Plan]) -> dict[int, Sharding]:
    """The layout of each value under the plan."""
    numbers = {ssa: number for number, ssa in enumerate(snap.ssa)}
    later, plan = found
    given = {later.ssa[value]: layout for value, layout in plan.layouts.items()}
    return {numbers[ssa]: layout for ssa, layout in given.items() if ssa in numbers}


def _report(plan: Plan) -> PlanReport:
    """The plan's figures, and how far from the least they may be."""
    moved, collectives = plan.bytes, plan.collectives
    known, left = plan.proof(), tuple(_left(plan))
    time = plan.time
    if known is None:
        return PlanReport(moved, collectives, left=left, time=time)
    if time is None:
        return PlanReport(moved, collectives, min(known.ticks, moved), known.method, left)
    return PlanReport(moved, collectives, None, known.method, left, replace(time, least_fs=known.ticks))


def _left(plan: Plan) -> Iterator[str]:
    """What is said of results that the planner leaves split."""
    less, time = plan.less_divided(), plan.time
    counted = plan.counted
    if not counted.search:
        state = " with data before state" if counted.data_first else ""
        whole = f", but whole over {' and '.join(counted.gathered)}" if counted.gathered else ""
        yield (
            f"every operation leaves its results as propagation lays them out{state}{whole}: with its "
            "collectives combined, that is the quickest"
        )
    combined = [share for share in plan.shares if share.part < 1]
    for share in combined:
        which = f"{share.title}s over {' and '.join(share.axes)}{WHEN[share.phase]}"
        yield f"{which} are combined: of the latency of each {share.part:.0%} is counted"
    if combined:
        yield "here collectives are counted one by one; --cost counts what they become"
    if plan.refused is not None:
        ticks, collectives = plan.refused
        least = f"{ticks} bytes" if time is None else seconds_text(time.work_fs + ticks)
        yield (
            f"a plan of {least} in {collectives} collectives is left: more collectives are taken for a "
            "quarter of communication and repeated work, no less"
        )
    if time is not None and time.twice_fs:
        part = time.twice_fs / time.total_fs
        yield f"work that several devices do takes {seconds_text(time.twice_fs)}, {part:.0%} of the time"
    if time is not None and time.apart_fs:
        part = time.apart_fs / time.total_fs
        yield (
            "partial sums, and operands that devices need whole for their part, take "
            f"{seconds_text(time.apart_fs)} more than an even share, {part:.0%} of the time"
        )
    if less is not None:
        worst = title(less.operations[0].variable.node)
        saves = f"saves {seconds_text(less.saved_fs)}" if less.weighed else "saves bytes"
        yield (
            f"operations divided less than annotations say: {len(less.operations)}, the largest {worst}; "
            f"{seconds_text(less.repeated_fs)} of work is repeated on {less.machine}, which {saves}"
        )
    for index, argument, layout in plan.split_results():
        number = plan.graph.main.body.args.index(argument)
        name = plan.graph.values[argument].loc.name or f"argument {number}"
        yield f"result {index} is left {layout}, as {name} is, further than propagation says"
