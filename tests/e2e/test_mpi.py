"""Programs for MPI on as many processes as they have devices, equal to the single-device program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.batches import EXAMPLES, PROGRAMS, assert_equal, compiled, files, measured, on_mpi

pytest.importorskip("mpi4py")


def test_examples_of_fewer_devices(tmp_path: Path):
    assert_equal(compiled(tmp_path, files(EXAMPLES), ["mpi"], range(1, 8)), on_mpi(tmp_path))


@pytest.mark.slow
def test_programs_on_eight_processes(tmp_path: Path):
    assert_equal(compiled(tmp_path, files(PROGRAMS), ["mpi"], range(1, 9)), on_mpi(tmp_path))


@pytest.mark.slow
def test_measured_programs_on_sixteen_processes(tmp_path: Path):
    assert_equal(compiled(tmp_path, measured(), ["mpi"], range(1, 17)), on_mpi(tmp_path, 16))
