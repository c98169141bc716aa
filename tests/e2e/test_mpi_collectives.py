"""The collectives that MPI programs carry, on eight processes, equal to those of emulated devices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shardc.interpret.run import run
from tests.e2e.batches import LIMIT, ROOT, compiled, on_mpi

pytest.importorskip("mpi4py")

ROWS = """
mesh pod[data=2, model=4]

@shard_map
def exchange(x: f32[64@(data, model), 6]) -> f32[64@(data, model), 6]:
    places = arange(4, dtype=i32)
    counts = (places[:, None] + places[None, :]) % 3
    before = cumsum(counts, axis=0) - counts
    at = axis_index(model)
    sizes = counts[at]
    starts = cumsum(sizes) - sizes
    return ragged_all_to_all(x, -x, starts, sizes, before[at], counts[:, at], model)

def main(x: f32[64@(data, model), 6]) -> f32[64@(data, model), 6]:
    return exchange(x)
"""


def test_collectives_on_eight_processes():
    child = str(Path(__file__).with_name("mpi_collectives.py"))
    words = [
        sys.executable,
        "-m",
        "shardc.cli.shardc",
        "run",
        child,
        "-n",
        "8",
        "--mpi",
        "--limit",
        str(LIMIT),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("collectives") == 8


def test_ragged_rows_in_a_program(tmp_path: Path):
    """Position i sends (i + j) % 3 rows to position j, which puts them one after the other."""
    texts = iter([("rows", "rows.shard", lambda: ROWS)])
    program = compiled(tmp_path, texts, ["mpi"], range(8, 9))["rows"]
    (itself,) = run(program.whole, program.inputs)
    x = np.load(tmp_path / "rows.in", allow_pickle=True)[0].reshape(2, 4, 8, 6)
    want = -x
    for j in range(4):
        starts = [sum((i + k) % 3 for k in range(j)) for i in range(4)]
        rows = [x[:, i, starts[i] : starts[i] + (i + j) % 3] for i in range(4)]
        came = np.concatenate(rows, axis=1)
        want[:, j, : came.shape[1]] = came
    np.testing.assert_array_equal(itself, want.reshape(64, 6))
    np.testing.assert_array_equal(on_mpi(tmp_path)["rows"][0], want.reshape(64, 6))
