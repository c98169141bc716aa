"""CPU seconds of shardc, from StableHLO text to the JAX program, and of XLA compiling the same function.

    python -m bench.compile_time [--layers 16] [--every 1] [--profile 0] [--memory 2 16 32] [PROGRAM…]

Each compilation has a process of its own; CPU seconds are those of all its threads, user and system. XLA's is
`jit(f).lower(…).compile()` on as many emulated CPU devices as the mesh has. The first column of each has the
imports and the start of the process, the second has not: for shardc a third process imports the modules that
the compilation had imported, and its seconds are taken off; for XLA they are those until the devices are
there; `ratio` is shardc's over XLA's. All modules have been compiled to bytecode before; nothing is taken
from shardc's cache folder, and nothing is proved. The last column is memory at shardc's peak beyond the
imports. Programs are those of the suites, every N-th with --every N, then the training step with its layers
written out. --profile says where shardc's time goes, for so many of the largest programs: a sample is taken
every 2 ms of CPU time and counted for the innermost room. --memory says what the steps of so many layers hold
at their peak: what the imports take, what each operation takes (the slope of the straight line nearest to
the peaks beyond the imports), and the rest, which does not grow with the program: the planner's linear
programs.
With --rows FILE each row is kept in it as JSON once it is measured, and one that is there is not measured
again, so that a run may be stopped and go on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from bench.page import publish

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/compile_time.md"
STEP = "step-"
"""What the names of the steps with so many layers written out begin with: step-16."""


def names(every: int, layers: list[int]) -> list[str]:
    """The programs to measure: the suites' as MODULE:NAME, then the steps."""
    from bench.suites import SUITES, programs

    found = [f"{suite}:{name}" for suite in SUITES for name in programs(import_module(suite))]
    return found[::every] + [f"{STEP}{count}" for count in layers]


def measure(name: str, folder: str) -> dict[str, float]:
    """The row of a program: seconds of both, with imports and without, operations, bytes at the peak."""
    path, out, modules = (os.path.join(folder, file) for file in ("in.mlir", "out.py", "modules.json"))
    operations = run("lower", name, path)[0]
    peak, ours = run("ours", path, out, modules)
    base, imports = run("imports", modules)
    without, xla = run("xla", name)
    return {
        "operations": operations,
        "xla": xla,
        "xla without": without,
        "ours": ours,
        "ours without": ours - imports,
        "KB": (peak - base) / operations / 1000,
    }


def run(*command: str) -> tuple[float, float]:
    """What a child prints, a number, and its CPU seconds."""
    text, seconds = child(*command)
    return float(text.splitlines()[-1]), seconds


def child(*command: str) -> tuple[str, float]:
    """Run one of the children in a fresh process: what it prints, and CPU seconds of all its threads."""
    words = [sys.executable, "-m", "bench.compile_time_children", *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["SHARDC_PROVE"] = "off"
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        assert process.stdout
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return text, usage.ru_utime + usage.ru_stime


def table(rows: dict[str, dict[str, float]]) -> Iterator[str]:
    """The rows as Markdown, and what they say together."""
    ratios = {name: row["ours"] / row["xla"] for name, row in rows.items()}
    corpus = [ratio for name, ratio in ratios.items() if not name.startswith(STEP)]
    if corpus:
        most = max((ratio, name) for name, ratio in ratios.items())
        median = f"median {statistics.median(corpus):.2f} of {len(corpus)} programs"
        yield f"shardc's CPU seconds over XLA's: {median}; most {most[0]:.2f}, {most[1].split(':')[-1]}."
        yield ""
    columns = (
        "operations",
        "XLA",
        "without imports",
        "shardc",
        "without imports",
        "ratio",
        "without",
        "KB/op",
    )
    yield f"| program | {' | '.join(columns)} |"
    yield f"| --- |{' ---: |' * len(columns)}"
    for name, row in rows.items():
        seconds = [row[column] for column in ("xla", "xla without", "ours", "ours without")]
        cells = [f"{number:.2f}" for number in (*seconds, ratios[name], seconds[3] / seconds[1])]
        yield f"| {name.split(':')[-1]} | {row['operations']:.0f} | {' | '.join(cells)} | {row['KB']:.1f} |"


def profiles(rows: dict[str, dict[str, float]], count: int, folder: str) -> Iterator[str]:
    """For the largest programs, the rooms that shardc's time is spent in."""
    largest = sorted(rows, key=lambda name: rows[name]["operations"])[len(rows) - count :]
    for name in largest:
        path = os.path.join(folder, "in.mlir")
        child("lower", name, path)
        found: dict[str, dict[str, int]] = json.loads(child("profile", path)[0])
        yield f"\n{name.split(':')[-1]}, by room and by pass (share of the samples):\n"
        yield "| room | share | | pass | share |"
        yield "| --- | ---: | --- | --- | ---: |"
        sides = [sorted(found[side].items(), key=lambda item: -item[1])[:12] for side in ("rooms", "passes")]
        total = sum(found["rooms"].values())
        for place in range(max(map(len, sides))):
            cells = [
                f"{side[place][0]} | {side[place][1] / total:.1%}" if place < len(side) else " | "
                for side in sides
            ]
            yield f"| {cells[0]} | | {cells[1]} |"


def memory(depths: Sequence[int], folder: str) -> Iterator[str]:
    """What steps of so many layers hold at their peak, and what of that grows with the operations."""
    path, out, modules = (os.path.join(folder, file) for file in ("in.mlir", "out.py", "modules.json"))
    operations, imports, beyond = list[float](), list[float](), list[float]()
    yield "| layers | operations | imports, MB | peak beyond them, MB | KB/op |"
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for depth in depths:
        operations.append(run("lower", f"{STEP}{depth}", path)[0])
        peak = run("ours", path, out, modules)[0]
        imports.append(run("imports", modules)[0])
        beyond.append(peak - imports[-1])
        count, megabytes = operations[-1], beyond[-1] / 1e6
        row = (str(depth), f"{count:.0f}", f"{imports[-1] / 1e6:.0f}", f"{megabytes:.1f}")
        yield f"| {' | '.join(row)} | {1000 * megabytes / count:.1f} |"
    line = statistics.linear_regression(operations, beyond)
    fixed = f"{statistics.median(imports) / 1e6:.0f} MB of imports, {line.intercept / 1e6:.1f} MB beyond them"
    yield ""
    yield f"Fixed: {fixed}. Each operation: {line.slope / 1000:.1f} KB."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="MODULE:NAME, or step-LAYERS")
    parser.add_argument("--layers", type=int, nargs="*", default=[16])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--profile", type=int, default=0)
    parser.add_argument("--memory", type=int, nargs="*", default=[], metavar="LAYERS")
    parser.add_argument(
        "--rows", type=Path, metavar="FILE", help="keep rows in it, and measure what it lacks"
    )
    parser.add_argument("--write", action="store_true", help=f"into {RESULT.relative_to(ROOT)}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SHARDC_CACHE"] = os.path.join(folder, "cache")
        measure("bench.ruler.programs:mlp_fwd_dp", folder)  # so that all modules are compiled to bytecode
        kept: dict[str, dict[str, float]] = {}
        if options.rows and options.rows.exists():
            kept = json.loads(options.rows.read_text(encoding="utf-8"))
        alone = options.memory and not options.programs
        wanted = [] if alone else options.programs or names(options.every, options.layers)
        for name in wanted:
            if name not in kept:
                kept[name] = measure(name, folder)
                if options.rows:
                    options.rows.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            print(f"{name}: {kept[name]['ours'] / kept[name]['xla']:.2f}", file=sys.stderr)
        rows = {name: kept[name] for name in wanted}
        lines = [*table(rows), *profiles(rows, options.profile, folder)] if rows else []
        if options.memory:
            lines += ["", *memory(options.memory, folder)]
    publish("Compile time", __doc__, lines, RESULT if options.write else None)


if __name__ == "__main__":
    main()
