"""JAX programs on four processes of two devices, equal to the single-device program: one start for all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.batches import EXAMPLES, PROGRAMS, compare, files, measured

pytestmark = pytest.mark.slow  # starts processes, some of which must fail: too uncertain for every run

pytest.importorskip("jax")


def start(folder: Path) -> None:
    batch = str(Path(__file__).with_name("gloo_batch.py"))
    command = [sys.executable, "-m", "shardc.cli.shardc", "run", batch, "-n", "4", "--devices", "2"]
    words = [*command, "--limit", "280", "--", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_examples_on_four_processes(tmp_path: Path):
    compare(tmp_path, files(EXAMPLES), "jax", range(8, 9), start)


@pytest.mark.slow
def test_programs_on_four_processes(tmp_path: Path):
    compare(tmp_path, files(PROGRAMS), "jax", range(8, 9), start)


@pytest.mark.slow
def test_measured_programs_on_four_processes(tmp_path: Path):
    compare(tmp_path, measured(), "jax", range(8, 9), start)
