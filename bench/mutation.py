"""Which wrong per-device programs the checks find: every collective of every program dropped or altered.

Each mutant (mutants.py) goes through the varying/partial type check of docs/checks.md. If that accepts it, it
runs on emulated devices on the inputs of `shardc --run` and is compared with the single-device program. One
that passes both runs on more random inputs: if it gives the right results on all of them it is equivalent (a
maximum in place of a sum over devices that hold zeros but one, say), else it is missed.

Two figures must be 100 %: of the reductions dropped or moved to another axis, those that the type check alone
finds; and of all mutants that change a result, those that the two checks find.

  python -m bench.mutation            every program: examples, two suites, tests/e2e/programs
  python -m bench.mutation NAME ...   only these
  python -m bench.mutation --missed   also list what is missed, slips through the type check, or is equivalent
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from bench.mutants import Mutant, mutants
from bench.suites import JUDGED, texts
from shardc.check.varying import check_graph
from shardc.cli.driver import load
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph
from shardc.interpret.arguments import random_inputs
from shardc.interpret.compare import TOLERANCE, distance
from shardc.interpret.run import run
from shardc.passes.pipeline import run_to
from shardc.semantics.blocks import BlockError

ROOT = Path(__file__).parents[1]
SEEDS = (1, 2, 3, 4)
"""Of the further inputs that decide what is equivalent; --run has seed 0."""

Verdict = str
TYPE, NUMBERS, EQUIVALENT, MISSED = "type check", "comparison", "equivalent", "missed"


@dataclass
class Tried:
    """The mutants of one program, with what found each."""

    found: list[tuple[Mutant, Verdict]] = field(default_factory=list["tuple[Mutant, Verdict]"])

    def count(self, *verdicts: Verdict) -> int:
        return sum(verdict in verdicts for _, verdict in self.found)

    @property
    def lost_reductions(self) -> list[Verdict]:
        """What found the reductions that were dropped or moved, where that changes anything."""
        return [v for mutant, v in self.found if mutant.loses_reduction and v != EQUIVALENT]


def compiled(module: ModuleOp) -> tuple[Graph, Graph]:
    """The single-device program and the per-device one."""
    with collecting():
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
        return whole, snapshot(module).graph


def attempt(whole: Graph, local: Graph) -> Tried:
    """Try every mutant of a per-device program."""
    tried, reference = Tried(), _Reference(whole, local)
    for mutant in mutants(local):
        with mutant.applied():
            tried.found.append((mutant, _verdict(reference)))
    return tried


@dataclass
class _Reference:
    """The results that are right, by the seed of the inputs."""

    whole: Graph
    local: Graph
    wanted: dict[int, tuple[list[np.ndarray], list[np.ndarray]]] = field(default_factory=dict)

    def differs(self, seed: int) -> bool:
        """Whether the per-device program as it is now is wrong on these inputs, or its devices disagree."""
        if seed not in self.wanted:
            inputs = random_inputs(self.whole.types(self.whole.main.body.args), seed)
            self.wanted[seed] = inputs, run(self.whole, inputs)
        inputs, wanted = self.wanted[seed]
        try:
            got = run(self.local, inputs)
        except (ShardcError, BlockError):
            return True
        dtypes = [self.whole.type(value).dtype for value in self.whole.main.body.results]
        return any(
            distance(want, have) > TOLERANCE.get(dtype, 0)
            for want, have, dtype in zip(wanted, got, dtypes, strict=True)
        )


def _verdict(reference: _Reference) -> Verdict:
    try:
        with collecting():
            check_graph(reference.local)
    except ShardcError:
        return TYPE
    if reference.differs(0):
        return NUMBERS
    return MISSED if any(map(reference.differs, SEEDS)) else EQUIVALENT


def programs() -> dict[str, Callable[[], ModuleOp]]:
    """Name -> what reads the program, as a module of stage ir."""
    found: dict[str, Callable[[], ModuleOp]] = {}
    for path in sorted([*ROOT.glob("examples/*/*.shard"), *ROOT.glob("tests/e2e/programs/*.shard")]):
        name = path.stem if path.stem not in found else f"{path.stem}_2"
        found[name] = lambda path=path: load(str(path), {}, None)
    for name, text in texts(JUDGED):
        found[name] = lambda name=name, text=text: read(text(), f"{name}.mlir")
    return found


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


COLUMNS = (
    ("mutants", 7),
    ("by type", 7),
    ("by result", 9),
    ("equivalent", 10),
    ("missed", 6),
    ("reductions lost", 15),
    ("by type", 7),
)


def figures(tried: Tried) -> list[int]:
    """What stands in the columns."""
    lost = tried.lost_reductions
    verdicts = map(tried.count, (TYPE, NUMBERS, EQUIVALENT, MISSED))
    return [len(tried.found), *verdicts, len(lost), lost.count(TYPE)]


def line(title: str, cells: Iterable[object]) -> str:
    padded = (f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
    return f"{title:26s} {' '.join(padded)}"


def remarks(tried: Tried) -> Iterator[str]:
    """What is missed or slips through the type check, and what is equivalent."""
    for mutant, verdict in tried.found:
        slipped = mutant.loses_reduction and verdict not in (TYPE, EQUIVALENT)
        if slipped or verdict in (MISSED, EQUIVALENT):
            yield f"    {verdict}: {mutant}" + (", not by type" if slipped else "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--missed", action="store_true")
    options = parser.parse_args()
    chosen = programs()
    names = options.names or list(chosen)
    total = [0] * len(COLUMNS)
    print(line("program", (title for title, _ in COLUMNS)))
    for name in names:
        start = time.perf_counter()
        tried = attempt(*compiled(chosen[name]()))
        row = figures(tried)
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(f"{line(name, row)}  {time.perf_counter() - start:.0f} s", flush=True)
        for remark in remarks(tried) if options.missed else ():
            print(remark)
    count, by_type, by_result, equivalent, missed, lost, lost_by_type = total
    changing = count - equivalent
    print(
        f"{count} mutants of {len(names)} programs, {equivalent} of them equivalent\n"
        f"reductions dropped or moved to another axis: {lost}, the type check alone finds "
        f"{lost_by_type} ({percent(lost_by_type, lost)})\n"
        f"mutants that change the result: {changing}, type check and comparison find {by_type + by_result} "
        f"({percent(by_type + by_result, changing)}), the type check alone {by_type} "
        f"({percent(by_type, changing)})"
    )
    return int(missed > 0 or lost_by_type < lost)


if __name__ == "__main__":
    sys.exit(main())
