"""Programs for MPI on eight processes, equal to the single-device program: one start for all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.batches import EXAMPLES, PROGRAMS, compare, files, measured

pytest.importorskip("mpi4py")


def start(folder: Path, count: int = 8) -> None:
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    batch = str(Path(__file__).with_name("mpi_batch.py"))
    words = [mpiexec, "-n", str(count), sys.executable, batch, str(folder)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_examples_on_eight_processes(tmp_path: Path):
    compare(tmp_path, files(EXAMPLES), "mpi", range(1, 9), start)


@pytest.mark.slow
def test_programs_on_eight_processes(tmp_path: Path):
    compare(tmp_path, files(PROGRAMS), "mpi", range(1, 9), start)


@pytest.mark.slow
def test_measured_programs_on_sixteen_processes(tmp_path: Path):
    compare(tmp_path, measured(), "mpi", range(1, 17), lambda folder: start(folder, 16))
