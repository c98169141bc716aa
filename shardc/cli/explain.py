"""`shardc PROG --explain [NAME]`: why tensors are split as they are, as text or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace

from xdsl.dialects.builtin import ModuleOp

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.explain.diagnostics import ShardcError, collecting
from shardc.explain.records import Explanation, PlanReport
from shardc.explain.show import overview_text, plan_text, tables, value_text
from shardc.explain.why import Explainer
from shardc.layout import Sharding
from shardc.passes.insert_reshards import planned
from shardc.passes.pipeline import PASSES, STAGES
from shardc.passes.propagate import read_custom_rules
from shardc.planning.gap import proof
from shardc.planning.problem import Problem
from shardc.planning.returned import left_split, unsaid
from shardc.propagation import propagate
from shardc.propagation.provenance import Provenance, Recorder


def explain_module(module: ModuleOp, name: str | None = None) -> Explanation:
    """Propagate with a recorder, then plan, and explain the values of a name, or the program.

    ShardcError if no value has that name.
    """
    context = make_context()
    for pass_name in STAGES["sharded"]:
        if pass_name == "propagate":
            break
        PASSES[pass_name]()().apply(context, module)
    snap = snapshot(module)
    read_custom_rules(snap)
    recorder = Recorder()
    result = propagate(snap.graph, on_change=recorder)
    found = _planned(snap)
    explainer = Explainer(snap.graph, Provenance(result, recorder), _layouts(snap, found) if found else {})
    if name is None:
        return replace(explainer.overview(), plan=_report(found[1]) if found else None)
    reports = explainer.named(name)
    if not reports:
        known = sorted({v.loc.name for v in snap.graph.values if v.loc.name})
        raise ShardcError(
            f"there is no tensor {name}",
            hint=f"the names are: {', '.join(known[:20])}; a line's number works too",
        )
    return Explanation(values=reports)


def _planned(snap: Snapshot) -> tuple[Snapshot, Problem] | None:
    """What the planner makes of the program; None if it cannot be planned, or need not."""
    try:
        with collecting():
            PASSES["propagate"]()().apply(make_context(), snap.module)
            return planned(snap.module)
    except ShardcError:
        return None


def _layouts(snap: Snapshot, found: tuple[Snapshot, Problem]) -> dict[int, Sharding]:
    """The layout of each value under the plan."""
    numbers = {ssa: number for number, ssa in enumerate(snap.ssa)}
    later, problem = found
    given = {later.ssa[value]: problem.given(value) for value in problem.values}
    return {numbers[ssa]: layout for ssa, layout in given.items() if ssa in numbers}


def _report(problem: Problem) -> PlanReport:
    """The plan's figures, and how far from the least they may be."""
    moved, collectives = problem.total()[:2]
    known, left = proof(problem), tuple(_left(problem))
    if known is None:
        return PlanReport(moved, collectives, left=left)
    return PlanReport(moved, collectives, min(known.bytes, moved), known.method, left)


def _left(problem: Problem) -> Iterator[str]:
    """What is said of results that the planner leaves split."""
    partners, main = unsaid(problem), problem.graph.main
    for index, layout in left_split(problem).items():
        number = main.body.args.index(partners[index])
        name = problem.graph.values[partners[index]].loc.name or f"argument {number}"
        yield f"result {index} is left {layout}, as {name} is, further than propagation says"


def text(explanation: Explanation, format: str) -> str:
    """What the command prints."""
    if format == "json":
        return json.dumps(asdict(explanation), indent=2) + "\n"
    if explanation.values:
        return "\n".join(map(value_text, explanation.values)) + "\n"
    return overview_text(explanation)


def show(explanation: Explanation, format: str) -> None:
    """Print; on a terminal, tables are drawn."""
    if format == "json" or explanation.values or not sys.stdout.isatty():
        sys.stdout.write(text(explanation, format))
        return
    from rich.console import Console
    from rich.table import Table

    if explanation.plan:
        Console().print(plan_text(explanation.plan), markup=False)
    for title, header, rows in tables(explanation):
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        Console().print(table if rows else title)
