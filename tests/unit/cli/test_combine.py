"""--combine: all-reduces that can wait for each other are one, up to a size."""

from __future__ import annotations

import pytest

import shardc
from shardc.cli.shardc import main

PROGRAM = """mesh pod[data=4]

def main(x: f32[64@data, 16], w: f32[16, 8], b: f32[8], v: f32[8, 4]) -> (f32[16, 8], f32[8], f32[8, 4]):
    h = tanh(x @ w + b)
    y = h @ v
    dh = (y @ v.T) * (1.0 - h * h)
    return w - x.T @ dh, b - 0.1 * sum(dh, axis=0), v - h.T @ y
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "prog.shard"
    path.write_text(PROGRAM)
    return str(path)


def emitted(capsys, *arguments):
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def test_up_to_a_size(program, capsys):
    """The gradients have 512, 32 and 128 bytes."""
    assert emitted(capsys, program).count("lax.psum(") == 3
    assert emitted(capsys, program, "--combine", "1000").count("lax.psum(") == 1
    assert emitted(capsys, program, "--combine", "600").count("lax.psum(") == 2
    assert emitted(capsys, program, "--combine", "100").count("lax.psum(") == 3


def test_the_same_results_and_bytes(program, capsys):
    assert "off by" in emitted(capsys, program, "--combine", "1000", "--run")
    apart, together = (shardc.cost(PROGRAM, combine=size) for size in (None, 1000))
    assert together.bytes == apart.bytes
    assert (len(apart.collectives), len(together.collectives)) == (3, 1)


def test_the_output_as_a_program(program, tmp_path, capsys):
    again = tmp_path / "again.shard"
    assert main([program, "--combine", "1000", "--emit", "shard", "-o", str(again)]) == 0
    assert emitted(capsys, str(again)).count("lax.psum(") == 1
