"""What each move of planning is worth: modelled time lost without it, and seconds gained.

    python -m bench.ablation [--machine balanced] [--seconds 120] [--keep FILE] [PREFIX…]

plans every program of bench/, the examples and the corpus (or those whose names begin with a prefix) as it
is, and once without each move. A row has how many plans are slower without the move, by how much they
are together, how many are quicker, and the CPU seconds that planning then takes.

Figures are kept in a file, a line of JSON for each program, and those that are there are not measured again:
a run stops after some CPU seconds, and the next one goes on. The table is of all programs in the file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.layout import LayoutError
from shardc.options import Options
from shardc.passes.pipeline import PASSES, STAGES, run_to
from shardc.planning.machines import Machine, load
from shardc.planning.program import improve, plan_program
from tests.golden.programs import every

KEPT = Path(__file__).parent / "results" / "ablation.jsonl"
WHOLE = "nothing"
"""The name of the row in which no move is left out."""

Figures = dict[str, tuple[int, int, float]]
"""For each move that is left out: ticks of communication and repeated work, collectives, CPU seconds."""

MOVES: dict[str, tuple[ModuleType, str, Callable[..., object]]] = {
    "single operations": (improve, "settle", lambda problem: None),
    "own layouts first": (improve, "_stay", lambda problem, strict: None),
    "integer program": (improve, "perfect", lambda problem: False),
    "data before state": (improve, "data_first", lambda graph: {}),
    "axis by axis": (improve, "by_axis", lambda problem: None),
    "results like arguments": (improve, "argument_layouts", lambda problem: {}),
}
"""Move -> where it is, and what stands in for it when it is left out."""


@contextmanager
def without(move: str | None) -> Iterator[None]:
    """Planning without a move."""
    if move is None:
        yield
        return
    module, name, nothing = MOVES[move]
    kept = getattr(module, name)
    setattr(module, name, nothing)
    try:
        yield
    finally:
        setattr(module, name, kept)


def propagated(text: str, file: str) -> Graph:
    """A program as planning gets it."""
    with collecting():
        module = read(text, Options(file=file))
        run_to(make_context(), module, "sharded")
        names = STAGES["collectives"]
        for name in names[: names.index("insert-reshards")]:
            PASSES[name]()().apply(make_context(), module)
    return snapshot(module).graph


def measured(graph: Graph, machine: Machine) -> Figures:
    """A program's plan as it is, and without each move.

    The first plan is not counted: a process remembers changes of layout.
    """
    plan_program(graph, machine=machine)
    found: Figures = {}
    for move in (WHOLE, *MOVES):
        with without(None if move == WHOLE else move):
            started = time.process_time()
            ticks, collectives = plan_program(graph, machine=machine).problem.total()[:2]
        found[move] = ticks, collectives, round(time.process_time() - started, 3)
    return found


def kept(file: Path, machine: str) -> dict[str, Figures]:
    """What is known of programs on a machine; nothing of those that are none."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    entries = [json.loads(line) for line in lines]
    return {entry["program"]: entry["figures"] for entry in entries if entry["machine"] == machine}


def table(known: dict[str, Figures]) -> Iterator[str]:
    """A row for each move."""
    figures = {name: each for name, each in known.items() if each}
    seconds = sum(each[WHOLE][2] for each in figures.values())
    yield f"{len(figures)} programs, planned in {seconds:.1f} s"
    yield f"{'without':24}{'slower':>8}{'by':>9}{'quicker':>9}{'seconds':>9}"
    for move in MOVES:
        slower = [name for name, each in figures.items() if each[move][0] > each[WHOLE][0]]
        quicker = sum(each[move][0] < each[WHOLE][0] for each in figures.values())
        before = sum(figures[name][WHOLE][0] for name in slower)
        more = sum(figures[name][move][0] for name in slower) - before
        took = sum(each[move][2] for each in figures.values())
        row = f"{move:24}{len(slower):8}{more / before if before else 0.0:9.1%}{quicker:9}{took:9.1f}"
        yield "  ".join([row, *slower[:4]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefixes", nargs="*", default=["bench/", "examples/", "corpus/"])
    parser.add_argument("--machine", default="balanced")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--keep", type=Path, default=KEPT)
    given = parser.parse_args()
    known, machine = kept(given.keep, given.machine), load(given.machine)
    for name, source in every().items():
        if name in known or not name.startswith(tuple(given.prefixes)):
            continue
        if time.process_time() > given.seconds:
            print("stopped; the next run goes on")
            break
        known[name] = figures = _figures(source, machine)
        entry = {"machine": given.machine, "program": name, "figures": figures}
        with given.keep.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    print(*table(known), sep="\n")


def _figures(source: Callable[[], tuple[str, str]], machine: Machine) -> Figures:
    """Of a program; none if it is wrong, or has no mesh."""
    try:
        graph = propagated(*source())
    except (ShardcError, LayoutError):
        return {}
    return measured(graph, machine) if graph.meshes else {}


if __name__ == "__main__":
    main()
