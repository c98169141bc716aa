"""Compiling starts no threads for products of matrices, which wait for work busily."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

VARIABLE = "OPENBLAS_NUM_THREADS"
PROGRAM = """mesh ring[r=2]

def main(x: f32[8@r]) -> f32[8@r]:
    return x + 1.0
"""
COMMAND = f"""
import os
from shardc.cli.shardc import main
assert main() == 0
print("threads:", os.environ.get("{VARIABLE}"))
"""


@pytest.mark.parametrize(
    ("option", "said", "threads"), [("--check", None, "1"), ("--check", "3", "3"), ("--run", None, "None")]
)
def test_threads_of_numpy(option: str, said: str | None, threads: str, tmp_path: Path) -> None:
    """One where no products are computed, unless the environment says otherwise."""
    (tmp_path / "a.shard").write_text(PROGRAM)
    kept = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment = {**kept, VARIABLE: said} if said else kept
    words = [sys.executable, "-c", COMMAND, str(tmp_path / "a.shard"), option]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"threads: {threads}"
