"""Programs on 8 devices, equal to the single-device program: on four processes of JAX, and on eight of MPI.

Programs are compiled once for both, and started together.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.batches import (
    EXAMPLES,
    PROGRAMS,
    Programs,
    assert_equal,
    compiled,
    files,
    measured,
    on_gloo,
    on_mpi,
)

pytest.importorskip("jax")
pytest.importorskip("mpi4py")

SHARES = 4
"""Parts of the measured programs, of which one runs at each commit."""


def check(folder: Path, programs: Programs) -> None:
    expected = compiled(folder, programs, ["jax", "mpi"], range(8, 9))
    assert_equal(expected, on_gloo(folder))
    assert_equal(expected, on_mpi(folder))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("share", range(2))
def test_examples(tmp_path: Path, share: int):
    check(tmp_path, files(EXAMPLES[share::2]))


@pytest.mark.sampled(SHARES)
@pytest.mark.parametrize("share", range(SHARES))
def test_measured_programs(tmp_path: Path, share: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHARDC_VERIFY_EACH", "")  # other tests compile these too
    check(tmp_path, measured(share, SHARES))


@pytest.mark.slow
def test_programs(tmp_path: Path):
    check(tmp_path, files(PROGRAMS))
