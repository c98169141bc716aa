"""What each move of planning is worth: modelled time lost without it, and seconds gained.

    python -m bench.ablation [--machine balanced] [PREFIX…]

plans every program of bench/, the examples and the corpus (or those whose names begin with a prefix) as it
is, and once without each move. A row has how many plans are slower without the move, by how much they
are together, how many are quicker, and the CPU seconds that planning then takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.layout import LayoutError
from shardc.options import Options
from shardc.passes.pipeline import PASSES, run_to
from shardc.planning.machines import Machine, load
from shardc.planning.program import descent, improve, plan_program
from tests.golden.programs import every

MOVES: dict[str, tuple[ModuleType, str, Callable[..., object]]] = {
    "meet": (descent, "_meet", lambda problem, value: False),
    "flow": (descent, "_flow", lambda problem, region: False),
    "carry": (descent, "_carry", lambda problem, slot: False),
    "region": (descent, "change_regions", lambda problem: False),
    "second start": (improve, "_start_again", lambda problem: None),
    "results like arguments": (improve, "argument_layouts", lambda problem: {}),
    "integer program": (improve, "perfect", lambda problem: None),
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
        for name in ("require-rules", "join-slices", "reduce-in-shape"):
            PASSES[name]()().apply(make_context(), module)
    return snapshot(module).graph


def planned(graph: Graph, machine: Machine) -> tuple[tuple[int, ...], float]:
    """(ticks of communication and repeated work, collectives), CPU seconds."""
    started = time.process_time()
    plan = plan_program(graph, machine=machine)
    return plan.problem.total()[:2], time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefixes", nargs="*", default=["bench/", "examples/", "corpus/"])
    parser.add_argument("--machine", default="balanced")
    given = parser.parse_args()
    machine, graphs = load(given.machine), dict(_graphs(tuple(given.prefixes)))
    whole: dict[str, tuple[tuple[int, ...], float]] = {}
    for _ in range(2):  # the second time is with what a process remembers of changes of layout
        whole = {name: planned(graph, machine) for name, graph in graphs.items()}
    seconds = sum(took for _, took in whole.values())
    print(f"{len(graphs)} programs on {given.machine}, planned in {seconds:.1f} s")
    print(f"{'without':24}{'slower':>8}{'by':>9}{'quicker':>9}{'seconds':>9}")
    for move in MOVES:
        with without(move):
            found = {name: planned(graph, machine) for name, graph in graphs.items()}
        slower = [name for name in graphs if found[name][0] > whole[name][0]]
        quicker = [name for name in graphs if found[name][0] < whole[name][0]]
        before = sum(whole[name][0][0] for name in slower)
        more = sum(found[name][0][0] for name in slower) - before
        part = more / before if before else 0.0
        took = sum(took for _, took in found.values())
        row = f"{move:24}{len(slower):8}{part:9.1%}{len(quicker):9}{took:9.1f}"
        print(row, *slower[:4], sep="  ", flush=True)


def _graphs(prefixes: tuple[str, ...]) -> Iterator[tuple[str, Graph]]:
    for name, source in every().items():
        if name.startswith(prefixes):
            try:
                graph = propagated(*source())
            except (ShardcError, LayoutError):
                continue
            if graph.meshes:
                yield name, graph


if __name__ == "__main__":
    main()
