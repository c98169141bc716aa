"""Modelled time lost without each move, start and threshold of planning, and CPU seconds gained.

    python -m bench.ablation [--every N] [--seconds 120] [--keep FILE] [--output FILE] [PREFIX…]

plans every program of bench/, the examples, the corpus, and training steps of 2 to 126 layers (or each N-th
of those whose names begin with a prefix) as it is, and once without each move. A row has how many plans are
slower without the move, by how much they are together, how many are quicker, how many take as long with more
collectives, steps or local work, and the CPU seconds that planning then takes, as a part of those with it.
What limits the search for changes of layout is in bench/changes.py. On `balanced` the time is of
communication and repeated work; on a machine with latency (`--latency`) that of the whole program, of which
several plans are made: one of these is left out.

Figures are kept in a file, a line of JSON for each program, and those that are there are not measured again:
a run stops after some CPU seconds, and the next one goes on. The table is of all programs in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.page import publish
from shardc.cache import ANEW as ANEW_PLANS
from shardc.compilation import by_pass
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.layout import LayoutError
from shardc.options import Options
from shardc.passes.pipeline import PASSES, STAGES, run_to
from shardc.planning.machines import Machine, load
from shardc.planning.program import plan_program
from shardc.planning.program.integer import solve
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.remembered.known import forget
from shardc.planning.program.search import data_first, improve
from shardc.report.combined import plans
from shardc.rewrite.folding.equal_layers import equal_layers
from tests.golden.programs import every

KEPT = Path(__file__).parent / "results" / "ablation.jsonl"
WHOLE = "nothing"
"""The name of the row in which no move is left out."""

Figures = dict[str, tuple[int, int, int, int, float]]
"""For each move that is left out: ticks of communication and repeated work, collectives, steps (with local
ones), elements of work on a device, CPU seconds."""


class Move(Struct, frozen=True):
    """What is left out: something in a module, and what stands in for it."""

    module: Any
    name: str
    instead: object


@contextmanager
def _no_toll(problem: Problem) -> Generator[None]:
    yield


MOVES: dict[str, Move] = {
    "single operations": Move(improve, "settle", lambda problem: None),
    "own layouts first": Move(improve, "_in_layouts", lambda problem, strict: None),
    "a toll for each collective": Move(improve, "_frugal", _no_toll),
    "integer program": Move(improve, "perfect", lambda problem: False),
    "data before state": Move(data_first, "data_first", lambda graph: {}),
    "axis by axis": Move(improve, "by_axis", lambda problem: None),
    "results like arguments": Move(improve, "argument_layouts", lambda problem: {}),
    "equal operations as one": Move(improve, "repeats_of", lambda problem: None),
    "ties compared up to 1,000 columns": Move(solve, "TIES", 0),
}
"""What is left out, by name."""

LAYERS = "equal layers as one"
"""What planning is told beside a program."""

DELETED = {
    "no solver where none is needed": "a search over decisions in program order, which showed for small "
    "programs that no plan is cheaper",
    "what becomes one there, in these layouts": "a plan on machines with latency, beside that in which more "
    "may join",
    "more that becomes one": "a plan on machines with latency, in propagation's layouts, as if more did "
    "than does there",
    "a sixteenth of all-reduces' latency": "a plan on machines with latency, as if sixteen sums became one",
    "a quarter of gathers' and scatters' latency": "a plan on machines with latency, where none become one",
    "each one's latency": "a plan on machines with latency, as if nothing became one",
    "what becomes one in propagation's layouts, in any": "a plan on machines with latency",
    "what becomes one in propagation's layouts, in these": "a plan on machines with latency",
}
"""What the planner has no more, with what it was: its row is of the programs that were measured before."""

PLANS = {
    "propagation's layouts as they are": "propagated",
    "those with data before state as they are": "data first",
    "tensors that are whole over some axes": "gathered",
    "what becomes one in the plan before": "again",
    "more where others are sent anyway": "joining",
    "a quarter of latency before and after products": "ends",
}
"""The plans for a machine with latency (report/combined.py), by name."""


@contextmanager
def without(name: str) -> Iterator[None]:
    """Planning without a move; WHOLE leaves out none."""
    if name not in MOVES:
        yield
        return
    move = MOVES[name]
    kept = getattr(move.module, move.name)
    setattr(move.module, move.name, move.instead)
    try:
        yield
    finally:
        setattr(move.module, move.name, kept)


def propagated(text: str, file: str) -> Graph:
    """A program as planning gets it."""
    return _propagated(text, file).graph


def _propagated(text: str, file: str) -> Snapshot:
    with collecting():
        module = read(text, Options(file=file))
        run_to(make_context(), module, "sharded")
        names = STAGES["collectives"]
        for name in names[: names.index("insert-reshards")]:
            PASSES[name]()().apply(make_context(), module)
    return snapshot(module)


def measured(graph: Graph, alike: Mapping[int, Hashable], machine: Machine) -> Figures:
    """A program's plan as it is, and without each move.

    The first plan is not counted: a process remembers changes of layout.
    """
    plan_program(graph, machine=machine, alike=alike)
    found: Figures = {}
    for name in (WHOLE, *MOVES, LAYERS):
        with without(name):
            forget()
            started = time.process_time()
            told = {} if name == LAYERS else alike
            total = plan_program(graph, machine=machine, alike=told).problem.total()
        found[name] = *total[:4], round(time.process_time() - started, 3)
    return found


def combined(source: Callable[[], tuple[str, str]], named: str) -> Figures:
    """Femtoseconds of a whole program on a machine with latency: with the quickest of its plans, and with the
    quickest of those of other names."""
    text, file = source()
    options, machine = Options(file=file, machine=named), load(named)
    took: list[tuple[str, int, float]] = []
    with collecting():
        module, started = read(text, options), time.process_time()
        for name, tried in plans(module, machine, by_pass(options)):
            took.append((name, tried.took * 10**6, round(time.process_time() - started, 3)))
            started = time.process_time()
    names = {name for name, _, _ in took}
    left = {WHOLE: "", **{title: name for title, name in PLANS.items() if name in names}}
    return {title: _but(took, name) for title, name in left.items() if len(names) > 1}


def _but(took: list[tuple[str, int, float]], gone: str) -> tuple[int, int, int, int, float]:
    """The quickest but those of a name, and the seconds of all but these."""
    left = [(ticks, seconds) for name, ticks, seconds in took if name != gone]
    return min(ticks for ticks, _ in left), 0, 0, 0, sum(seconds for _, seconds in left)


def kept(file: Path, machine: str) -> dict[str, Figures]:
    """What is known of programs on a machine; nothing of those that are none."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    entries = [json.loads(line) for line in lines]
    return {entry["program"]: entry["figures"] for entry in entries if entry["machine"] == machine}


def table(known: dict[str, Figures], missing: int = 0) -> Iterator[str]:
    """A row for each move, of the programs with a mesh; `missing` are not measured yet."""
    figures = {name: each for name, each in known.items() if each}
    seconds = sum(each[WHOLE][-1] for each in figures.values())
    left = f" {missing} more are not measured yet." if missing else ""
    yield f"{len(figures)} programs, planned in {seconds:.1f} CPU s.{left}"
    yield ""
    yield "| without | slower | by | quicker | as quick, with more | CPU s, with = 1 | slower are |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for move in (*MOVES, LAYERS, *DELETED, *PLANS):
        rows = {name: each for name, each in figures.items() if move in each}
        if rows:
            yield _row(move, rows)
    yield ""
    for move, what in DELETED.items():
        if any(move in each for each in figures.values()):
            yield f"Deleted for its row: {move}, {what}."
            yield ""


def _row(move: str, figures: dict[str, Figures]) -> str:
    slower = [name for name, each in figures.items() if each[move][0] > each[WHOLE][0]]
    quicker = sum(each[move][0] < each[WHOLE][0] for each in figures.values())
    pairs = [(each[move], each[WHOLE]) for each in figures.values()]
    worse = sum(one[0] == own[0] and one[1:4] > own[1:4] for one, own in pairs)
    before = sum(figures[name][WHOLE][0] for name in slower)
    more = sum(figures[name][move][0] for name in slower) - before
    with_it, without_it = (sum(each[which][-1] for each in figures.values()) for which in (WHOLE, move))
    named = ", ".join(slower[:4]) + (", …" if len(slower) > 4 else "")
    by = f"{more / before:.2%}" if before else "–"
    return f"| {move} | {len(slower)} | {by} | {quicker} | {worse} | {without_it / with_it:.2f} | {named} |"


def layers() -> Iterator[tuple[str, Callable[[], tuple[str, str]]]]:
    """Training steps of 2 to 32 layers of two kinds, and of a scan over 126 on 16,384 devices."""
    from bench import gated
    from bench.compile_curve import traced
    from bench.transformer import Size, text

    for count in (2, 8, 32):
        for schedule in ("mp", "z3"):
            size = Size(layers=count)
            yield (
                f"layers/lm_{schedule}_{count}",
                lambda schedule=schedule, size=size: (text("lm", schedule, size), "lm.mlir"),
            )
        yield f"layers/gated_{count}", lambda count=count: (gated.text(count), "gated.mlir")

    def scan() -> tuple[str, str]:
        lowered = traced(0, (128, 16, 8), False).lower(lowering_platforms=("cpu",))
        return lowered.as_text(debug_info=True), "scan.mlir"

    yield "layers/scan_126_on_16384", scan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefixes", nargs="*", default=["bench/", "examples/", "corpus/", "layers/"])
    parser.add_argument("--machine", default="balanced")
    parser.add_argument("--latency", default="h100-infiniband")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=KEPT)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    ANEW_PLANS.set(True)
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")  # for which the corpus lowers
    programs = {**every(), **dict(layers())}
    names = [name for name in programs if name.startswith(tuple(given.prefixes))][:: given.every]
    tables: list[str] = []
    for machine in (given.machine, given.latency):
        known = kept(given.keep, machine)
        for name in names:
            if name in known or time.process_time() > given.seconds:
                continue
            known[name] = figures = _figures(programs[name], machine)
            entry = {"machine": machine, "program": name, "figures": figures}
            with given.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        tables += [f"## {machine}", "", *table(known, sum(name not in known for name in names))]
    publish("What each move of planning is worth", __doc__, tables, given.output)


def _figures(source: Callable[[], tuple[str, str]], named: str) -> Figures:
    """Of a program on the machine of that name; none if it is wrong, or has no mesh."""
    machine = load(named)
    try:
        if machine.has_latency:
            return combined(source, named)
        snap = _propagated(*source())
    except (ShardcError, LayoutError):
        return {}
    return measured(snap.graph, equal_layers(snap), machine) if snap.graph.meshes else {}


if __name__ == "__main__":
    main()
