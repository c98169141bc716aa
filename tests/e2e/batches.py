"""Programs that are compiled, run together by one start of several processes, and compared."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from bench import suites
from shardc.compilation import emit
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.graph.trees import arguments_of
from shardc.interpret.arguments import arguments
from shardc.options import Options
from shardc.passes.pipeline import run_to
from tests.tolerance import assert_right
from tests.xla_flags import QUICK

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.shard"))
PROGRAMS = sorted((ROOT / "tests/e2e/programs").glob("*.shard"))
LIMIT = 1500
"""Seconds of a start, for machines that are busy with other things."""

Programs = Iterator[tuple[str, str, Callable[[], str]]]
"""Name, file, and what gives the text."""

Results = Mapping[str, Sequence[np.ndarray]]
"""Program -> its results, whole."""


@dataclass(frozen=True)
class Program:
    """A program, what a device runs of it, and its arguments."""

    whole: Graph
    local: Graph
    inputs: list[np.ndarray]


Expected = dict[str, Program]


def files(paths: list[Path]) -> Programs:
    for path in paths:
        yield path.stem, path.name, path.read_text


def measured(share: int = 0, shares: int = 1) -> Programs:
    """The programs of bench, or every so many of them."""
    for name, text in [*suites.texts()][share::shares]:
        yield name.replace("/", "_"), f"{name}.mlir", text


def compiled(folder: Path, programs: Programs, targets: Sequence[str], sizes: range) -> Expected:
    """Write the programs with as many devices as `sizes` has, and their inputs."""
    found = {name: _compiled(folder, name, file, text(), targets, sizes) for name, file, text in programs}
    return {name: program for name, program in found.items() if program is not None}


def _compiled(
    folder: Path, name: str, file: str, text: str, targets: Sequence[str], sizes: range
) -> Program | None:
    with collecting():
        module = read(text, Options(file=file))
        whole = snapshot(module.clone()).graph
        if max((prod(mesh.sizes.values()) for mesh in whole.meshes.values()), default=1) not in sizes:
            return None
        run_to(make_context(), module, "local")
        local = snapshot(module).graph
        for target in targets:
            (folder / f"{name}.{target}.py").write_text(emit(snapshot(module).graph, target))
    inputs = arguments(whole, None)
    (folder / f"{name}.in").write_bytes(pickle.dumps(arguments_of(whole.main.interface, inputs)))
    return Program(whole, local, inputs)


def on_gloo(folder: Path) -> Results:
    """Run the programs of a folder on 4 processes of 2 devices; their results, joined."""
    batch = str(Path(__file__).with_name("gloo_batch.py"))
    start = [sys.executable, "-m", "shardc.cli.shardc", "run", batch, "-n", "4", "--devices", "2"]
    _started([*start, "--limit", str(LIMIT), "--", str(folder)], folder, XLA_FLAGS=QUICK)
    made = [pickle.loads((folder / f"results-{process}").read_bytes()) for process in range(4)]
    return {
        name: [_joined(name, [of[name][number] for of in made]) for number in range(len(made[0][name]))]
        for name in made[0]
    }


def _joined(
    name: str, held: list[tuple[tuple[int, ...], list[tuple[tuple[slice, ...], np.ndarray]]]]
) -> np.ndarray:
    """A result from what all devices hold of it. Where several hold the same, it must be the same."""
    shape, shards = held[0][0], [shard for _, of_process in held for shard in of_process]
    whole, filled = np.empty(shape, shards[0][1].dtype), np.zeros(shape, bool)
    for index, data in shards:
        whole[index], filled[index] = data, True
    assert filled.all(), f"{name}: nobody holds a part of a result"
    assert all(whole[index].tobytes() == data.tobytes() for index, data in shards), f"{name}: copies differ"
    return whole


def on_mpi(folder: Path, count: int = 8) -> Results:
    """Run them on processes of MPI, one a device; the results of process 0."""
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    batch = str(Path(__file__).with_name("mpi_batch.py"))
    words = [mpiexec, "-n", str(count), sys.executable, batch, str(folder)]
    _started(words, folder, MPIR_CVAR_CH4_PROGRESS_THROTTLE="1", OPENBLAS_NUM_THREADS="1")
    return pickle.loads((folder / "results").read_bytes())


def _started(words: list[str], folder: Path, **settings: str) -> None:
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
        capture_output=True,
        text=True,
        timeout=LIMIT + 60,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}"


def assert_equal(expected: Expected, found: Results) -> None:
    """Fail unless there are the results that one device computes, as far as it can."""
    assert expected
    for name, program in expected.items():
        assert_right(program.whole, program.local, program.inputs, found[name], name)
