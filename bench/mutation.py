#!/usr/bin/env python3
"""Which wrong per-device programs the checks find: every collective of every program dropped or altered in turn.

Each mutant (mutants.py) goes through the varying/partial type check of docs/checks.md. If that accepts it, it
runs on emulated devices on the inputs of `shardc --run` and is compared with the single-device program. What passes
both runs on more random inputs: a mutant that gives the right results on all of them is equivalent (a maximum
in place of a sum over devices that hold zeros but one, say), one that does not is missed.

Two figures must be 100 %: of the reductions dropped or moved to another axis, those that the type check alone finds;
and of all mutants that change a result, those that the two checks find.

  mutation.py                every program: examples, programs.py, more_programs.py, tests/e2e/programs
  mutation.py NAME ...       only these
  mutation.py --missed       also list what is missed or slips through the type check, and what is equivalent
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from mutants import Mutant, mutants  # noqa: E402

from shardc.check.varying import check_graph  # noqa: E402
from shardc.cli.driver import load  # noqa: E402
from shardc.cli.run import TOLERANCE, distance, random_inputs  # noqa: E402
from shardc.dialects.context import make_context  # noqa: E402
from shardc.dialects.snapshot import snapshot  # noqa: E402
from shardc.explain.diagnostics import ShardcError, collecting  # noqa: E402
from shardc.frontend.mlir import read  # noqa: E402
from shardc.graph import Graph  # noqa: E402
from shardc.passes.pipeline import run_to  # noqa: E402
from shardc.semantics.blocks import BlockError  # noqa: E402
from shardc.semantics.run import run  # noqa: E402

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


def compiled(module: object) -> tuple[Graph, Graph]:
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


def programs() -> dict[str, Callable[[], object]]:
    """Name -> what reads the program, as a module of stage ir."""
    found: dict[str, Callable[[], object]] = {}
    root = HERE.parent
    for path in sorted([*root.glob("examples/*/*.shard"), *root.glob("tests/e2e/programs/*.shard")]):
        name = path.stem if path.stem not in found else f"{path.stem}_2"
        found[name] = lambda path=path: load(str(path), {}, None)
    for name, text in stablehlo():
        found[name] = lambda name=name, text=text: read(text(), f"{name}.mlir")
    return found


def stablehlo() -> Iterator[tuple[str, Callable[[], str]]]:
    """The programs of this folder as JAX lowers them, for however many devices."""
    import more_programs
    import programs as first
    from jax.sharding import AbstractMesh, AxisType

    for module in (first, more_programs):
        for name, program in module.PROGRAMS.items():

            def lowered(module=module, program=program):
                axes = program.mesh
                mesh = AbstractMesh((*axes.values(),), (*axes,), axis_types=(AxisType.Auto,) * len(axes))
                traced = module.jitted(program, mesh).trace(*module.avals(program))
                return traced.lower(lowering_platforms=("cpu",)).as_text()

            yield name, lowered


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--missed", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", "16")
    chosen = programs()
    names = options.names or list(chosen)
    total: Counter[str] = Counter()
    print(f"{'program':26s} {'mutants':>7s} {'by type':>7s} {'by result':>9s} {'equivalent':>10s} {'missed':>6s}"
          f" {'reductions lost':>15s} {'by type':>7s}")  # fmt: skip
    for name in names:
        start = time.perf_counter()
        tried = attempt(*compiled(chosen[name]()))
        lost = tried.lost_reductions
        row = [len(tried.found), *map(tried.count, (TYPE, NUMBERS, EQUIVALENT, MISSED)), len(lost), lost.count(TYPE)]
        total.update(dict(enumerate(row)))
        print(f"{name:26s} {row[0]:7d} {row[1]:7d} {row[2]:9d} {row[3]:10d} {row[4]:6d} {row[5]:15d} {row[6]:7d}"
              f"  {time.perf_counter() - start:.0f} s", flush=True)  # fmt: skip
        for mutant, verdict in tried.found if options.missed else ():
            slipped = mutant.loses_reduction and verdict not in (TYPE, EQUIVALENT)
            if slipped or verdict in (MISSED, EQUIVALENT):
                print(f"    {verdict}: {mutant}" + (", not by type" if slipped else ""))
    count, by_type, by_result, equivalent, missed, lost, lost_by_type = (total[i] for i in range(7))
    print(
        f"{count} mutants of {len(names)} programs, {equivalent} of them equivalent\n"
        f"reductions dropped or moved to another axis: {lost}, the type check alone finds "
        f"{lost_by_type} ({percent(lost_by_type, lost)})\n"
        f"mutants that change the result: {count - equivalent}, type check and comparison find "
        f"{by_type + by_result} ({percent(by_type + by_result, count - equivalent)}), the type check alone "
        f"{by_type} ({percent(by_type, count - equivalent)})"
    )
    return int(missed > 0 or lost_by_type < lost)


if __name__ == "__main__":
    sys.exit(main())
