"""What the model of time is worth: modelled against measured time of plans, on processes of this machine.

    python -m bench.model_accuracy [-n 2] [--mpi] [--keep FOLDER] [PROGRAM…]

`shardc measure` fits a machine file with the same number of processes. Each program of model_programs.py is
planned for several machines, and as propagation leaves it; every plan that differs from the others is run. A
pair of plans for the same program counts where their measured times differ by more than a fifth: the model
is to say which is quicker. Beside the fit and beside each program the same product is timed: where it takes
longer than beside the fit, the machine as a whole is slower by so much, and measured times are divided by
that. Writes results/model_accuracy.md, or with `--mpi`, for programs in NumPy on
processes of MPI, results/model_accuracy_mpi.md. Figures need a machine that does nothing else.

With `--keep FOLDER` what is measured stays there, with what each device runs of every plan. The same command
then only models anew: after a change of the model, or of the machine file there. To fit that again, for the
same plans and times, delete `machine.toml` in the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import combinations, repeat
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

from msgspec import Struct

from bench.model_programs import SCALED, text
from bench.model_timing import AT_FIT, STARTS, TIMES, left
from shardc.analysis import per_device
from shardc.compilation import emit, lower
from shardc.diagnostics import collecting
from shardc.frontend.mlir import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.planning.machines import Machine, load
from shardc.planning.program import plan
from shardc.report.times import estimate
from shardc.report.traffic import collectives

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench/results"
MACHINE = "machine.toml"
DIFFERENT = 1.2
"""Times differ where one is more than so many times the other."""

OWN = "propagation"
MACHINES = ("bytes", "balanced", "h100-infiniband", "tpu-v5e")


class Planned(Struct):
    """A plan of a program: for which machines it was made, and what a device runs; measured and modelled
    seconds.

    `slower`: how many times as long as beside the fit the reference took; `seconds` are divided by it.
    """

    program: str
    machines: list[str]
    graph: Graph
    seconds: float = 0.0
    slower: float = 1.0
    sends: float = 0.0
    products: float = 0.0
    rest: float = 0.0

    @property
    def modelled(self) -> float:
        return self.sends + self.products + self.rest


def local(program: str, machine: str) -> Graph:
    """What one device runs of a program planned for a machine, or as propagation leaves it."""
    with collecting():
        module = read(program, "model.mlir")
        if machine != OWN:
            return lower(module, Options(machine=machine))
        with patch.object(plan, "improved", lambda problem, *said, **how: None):
            return lower(module, Options())


def plans(number: int, count: int, folder: Path, target: str) -> list[Planned]:
    """The plans of a program of SCALED that differ, written as programs; those of before, if any."""
    suite, name, sizes = SCALED[number]
    kept, fitted = folder / f"{name}.plans", str(folder / MACHINE)
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    program, found = text(import_module(suite), name, sizes, count), dict[str, Planned]()
    for chosen in (fitted, *MACHINES, OWN):
        graph = local(program, chosen)
        label = "measured" if chosen == fitted else chosen
        source = emit(graph, target, process_data=target == "jax")
        found.setdefault(source, Planned(name, [], graph)).machines.append(label)
    for index, source in enumerate(found):
        (folder / f"{name}-{index}.py").write_text(source, encoding="utf-8")
    kept.write_bytes(pickle.dumps([*found.values()]))
    print(f"{name}: {len(found)} plans", flush=True)
    return [*found.values()]


def modelled(graph: Graph, machine: Machine) -> tuple[float, float, float]:
    """Seconds of collectives, of the arithmetic of products, and of all else."""
    program = per_device.read(graph)
    time = estimate(machine, program, collectives(program), 0)
    return time.communication_ns / 1e9, time.matmul_ns / 1e9, (time.work_ns - time.matmul_ns) / 1e9


def started(folder: Path, *words: str) -> None:
    """Run a command of shardc on processes. What JAX compiles in one start is taken from the folder in the
    next."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    compiled = {
        "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    environment = {**os.environ, **compiled, "PYTHONPATH": path, "SHARDC_PROVE": "off"}
    subprocess.run([sys.executable, "-m", "shardc.cli.shardc", *words], check=True, env=environment)


def measured(folder: Path, count: int, names: list[str], mpi: bool) -> list[Planned]:
    """All plans, with both times."""
    kind = ["-n", str(count), *(["--mpi"] if mpi else [])]
    child = str(Path(__file__).with_name("model_child_mpi.py" if mpi else "model_child.py"))
    reference = ("run", child, *kind, "--", str(folder))
    if not ((folder / MACHINE).exists() and (folder / AT_FIT).exists()):
        (folder / AT_FIT).unlink(missing_ok=True)
        started(folder, *reference)
        started(folder, "measure", *kind, "-o", str(folder / MACHINE))
        started(folder, *reference)
    found: dict[str, Planned] = {}
    chosen = [number for number, (_, name, _) in enumerate(SCALED) if not names or name in names]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for each in pool.map(plans, chosen, repeat(count), repeat(folder), repeat("mpi" if mpi else "jax")):
            found |= {f"{planned.program}-{index}": planned for index, planned in enumerate(each)}
    while names_left := left(folder, [*found]):
        started(folder, *reference, *names_left)
    machine = load(str(folder / MACHINE))
    at_fit = statistics.mean(json.loads((folder / AT_FIT).read_text(encoding="utf-8")))
    seconds = json.loads((folder / TIMES).read_text(encoding="utf-8"))
    for name, planned in found.items():
        own, beside, _ = seconds[name]
        planned.slower = beside / at_fit
        planned.seconds = own / planned.slower
        planned.sends, planned.products, planned.rest = modelled(planned.graph, machine)
    return [*found.values()]


def error(planned: Planned) -> float:
    """Modelled over measured, less one."""
    return planned.modelled / planned.seconds - 1


def pairs(found: list[Planned]) -> Iterator[tuple[Planned, Planned]]:
    """Plans of the same program whose times differ, the quicker one first."""
    for one, other in combinations(found, 2):
        quick, slow = sorted((one, other), key=lambda planned: planned.seconds)
        if one.program == other.program and slow.seconds > DIFFERENT * quick.seconds:
            yield quick, slow


def page(found: list[Planned], count: int, mpi: bool, fitted: str) -> str:
    """The results as Markdown."""
    off = [abs(error(planned)) for planned in found]
    slower = [planned.slower for planned in found]
    different = [*pairs(found)]
    right = sum(quick.modelled < slow.modelled for quick, slow in different)
    programs = len({planned.program for planned in found})
    share = f"{right} of {len(different)} ({right / len(different):.0%})" if different else "none"
    head = [
        "# The model of time against the machine",
        "",
        f"Written by `python -m bench.model_accuracy -n {count}{' --mpi' if mpi else ''}`: {len(found)} "
        f"plans of {programs} programs on {count} processes of {'MPI' if mpi else 'JAX (gloo)'}, "
        f"{os.cpu_count()} cores; the quickest of ten runs, two in each of {STARTS} starts.",
        "",
        f"* Median error of the modelled time: {statistics.median(off):.0%}.",
        "* Pairs of plans for the same program whose times differ by more than a fifth, in the right order: "
        f"{share}.",
        f"* The reference, a product, took {min(slower):.2f} to {max(slower):.2f} times as long beside the "
        "programs as beside the fit; measured times are divided by that.",
        "",
        "| program | planned for | measured ms | modelled ms | sends | products | rest | off by |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows = [
        f"| {p.program} | {', '.join(p.machines)} | {p.seconds * 1e3:.1f} | {p.modelled * 1e3:.1f} | "
        f"{p.sends * 1e3:.1f} | {p.products * 1e3:.1f} | {p.rest * 1e3:.1f} | {error(p):+.0%} |"
        for p in found
    ]
    machine = ["", "The machine as `shardc measure` fitted it:", "", "```toml", fitted.rstrip(), "```"]
    return "\n".join([*head, *rows, *machine]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("-n", dest="count", type=int, default=2, metavar="N")
    parser.add_argument("--mpi", action="store_true", help="programs in NumPy, on processes of MPI")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="where plans and times stay: those that are there are not made again",
    )
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = measured(folder.resolve(), given.count, given.programs, given.mpi)
        written = page(found, given.count, given.mpi, (folder / MACHINE).read_text(encoding="utf-8"))
    output = given.output or RESULTS / f"model_accuracy{'_mpi' if given.mpi else ''}.md"
    output.write_text(written, encoding="utf-8")
    print(written)


if __name__ == "__main__":
    main()
