"""Lines that compiled code prints to standard output: the file of the process, which capsys does not see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PRINTING = """
import ctypes, os
from shardc.planning.printed import without_lines
c = ctypes.CDLL(None)
print("before")
with without_lines(b"Highs"):
    c.printf(b"HighsMip says\\n")
    print("Python")
    c.printf(b"other\\n")
    os.write(1, b"raw\\n")
c.printf(b"Highs after\\n")
"""


def test_lines_of_one_kind_are_lost_and_others_kept() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRINTING], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.splitlines()) == ["Highs after", "Python", "before", "other", "raw"]


def test_no_standard_output() -> None:
    words = "import os; os.close(1)\nfrom shardc.planning.printed import without_lines\n"
    words += "with without_lines(b'none'): pass"
    subprocess.run([sys.executable, "-c", words], cwd=ROOT, check=True)


def test_a_program_on_standard_output_is_all_there_is() -> None:
    """HiGHS repairs a solution of this one, and says so unasked."""
    example = ROOT / "examples/megatron_mlp/megatron_mlp.shard"
    words = [
        "-m",
        "shardc.cli.shardc",
        str(example),
        "--cost",
        "--machine",
        "h100-infiniband",
        "--format",
        "json",
    ]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{")
