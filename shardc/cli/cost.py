"""`shardc PROG --cost`: what a compiled program costs a device, as text or as JSON."""

from __future__ import annotations

import sys

from xdsl.dialects.builtin import ModuleOp

from shardc.dialects.annotations import annotated, stated
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.diagnostics import ShardcError, collecting
from shardc.graph import Graph, walk
from shardc.layout import LayoutError
from shardc.passes.pipeline import PASSES, STAGES, Options, run_to
from shardc.report import show
from shardc.report.cost import Cost, cost_of
from shardc.report.machine import Machine, load
from shardc.report.removal import Trial, with_removals
from shardc.report.times import with_axes

EFFORT = 600
"""Trials times operations, by default: what takes a small program some seconds."""


def cost_module(
    module: ModuleOp,
    options: Options | None = None,
    machine: Machine | None = None,
    tries: int | None = None,
) -> Cost:
    """Compile a module and say what it costs; `tries` as in --tries. ShardcError if it is wrong."""
    start = module.clone()
    run_to(make_context(), module, "local", options=options)
    graph = snapshot(module).graph
    cost = cost_of(graph, machine)
    if not cost.collectives:
        return cost
    if tries is None:
        tries = EFFORT // max(1, _operations(snapshot(start).graph))
    if not tries:
        return cost
    return _with_removals(start, cost, options, tries)


def _with_removals(module: ModuleOp, cost: Cost, options: Options | None, tries: int) -> Cost:
    """Try changes on the module as it is before propagation, where every annotation is in main."""
    passes = STAGES["sharded"]
    for name in passes[: passes.index("propagate")]:
        PASSES[name]()().apply(make_context(), module)
    known = stated(module)
    mesh = next((a.sharding.mesh for a in known if a.sharding is not None), None)
    if mesh is None:
        return cost

    def price(trial: Trial) -> Cost | None:
        changed = annotated(module, known[trial.annotation], trial.sharding)
        try:
            with collecting():
                run_to(make_context(), changed, "local", options=options)
                return cost_of(snapshot(changed).graph)
        except (ShardcError, LayoutError):
            return None

    return with_removals(cost, mesh, known, price, tries)


def _operations(graph: Graph) -> int:
    return sum(1 for function in graph.functions.values() for _ in walk(function.body))


def machine_of(name: str | None, links: dict[str, str]) -> Machine | None:
    """The machine of --machine, with the axes of --links."""
    return with_axes(load(name), links) if name else None


def text(cost: Cost, format: str) -> str:
    """What the command prints."""
    return show.json_text(cost) if format == "json" else show.text(cost)


def print_cost(cost: Cost, format: str) -> None:
    """Print; on a terminal, the collectives are a drawn table."""
    if format == "json" or not sys.stdout.isatty() or not cost.collectives:
        sys.stdout.write(text(cost, format))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print("\n".join(show.head(cost)), markup=False)
    table = Table(*show.columns(cost))
    for row in show.rows(cost):
        table.add_row(*row)
    console.print(table)
    for entry in cost.collectives:
        console.print(f"{show.title(entry)} in {entry.where}", markup=False)
        for note in show.notes(cost, entry):
            console.print(f"    {note}", markup=False)
    console.print("\n".join(show.tail(cost)), markup=False)
