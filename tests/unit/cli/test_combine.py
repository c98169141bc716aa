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


SPLIT = """mesh pod[data=16]

def main(
    x: f32[16384@data, 1024], w1: f32[1024, 512@data], w2: f32[512@data, 1024], b1: f32[512], b2: f32[1024]
) -> (f32[1024, 512@data], f32[512@data, 1024], f32[512], f32[1024]):
    h1 = relu(x @ w1 + b1)
    h2 = h1 @ w2 + b2
    d1 = (h2 @ w2.T) * h1
    return w1 - x.T @ d1, w2 - h1.T @ h2, b1 - sum(d1, axis=0), b2 - sum(h2, axis=0)
"""
"""Weights that are gathered, and gradients that are scattered."""


def estimated(**options):
    return shardc.cost(SPLIT, machine="h100-infiniband", tries=0, **options)


def test_on_a_machine_as_far_as_latency_is_worth_it():
    apart, together = estimated(combine=0), estimated()
    assert together.bytes == apart.bytes
    assert 2 * len(together.collectives) < len(apart.collectives)
    assert together.time is not None
    assert apart.time is not None
    assert together.time.total_ns < 0.6 * apart.time.total_ns
    assert all(collective.where for collective in together.collectives)


def test_without_latency_only_the_option_says():
    whole, apart = (shardc.cost(SPLIT, machine="balanced", tries=0, combine=size) for size in (None, 0))
    assert len(whole.collectives) == len(apart.collectives)


def test_within_a_memory_that_all_at_once_would_exceed():
    most = 25_000_000
    assert estimated().memory.peak > most >= estimated(memory=most).memory.peak
    tight = estimated(memory=19_000_000)
    assert tight.memory.peak <= 19_000_000
    combined = [["; and " in each.reason for each in found.collectives] for found in (tight, estimated())]
    assert not any(combined[0]) and any(combined[1])


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_gathers_and_scatters_give_the_same_results(tmp_path, capsys, target):
    path = tmp_path / "split.shard"
    path.write_text(SPLIT.replace("512", "32").replace("1024", "64").replace("16384", "512"))
    text = emitted(capsys, str(path), "--combine", "1000000", "--target", target)
    assert text.count("concatenate(") >= 2
    assert "off by" in emitted(capsys, str(path), "--combine", "1000000", "--target", target, "--run")


WAVES = """mesh ring[x=8]

def main(a: f32[64@x, 16], b: f32[64@x]) -> (f32[64@x, 16], f32[64@x]):
    for t in range(10) carrying a, b:
        a, b = 0.5 * (a + roll(a, 1, axis=0)), maximum(b, roll(b, 1, axis=0)) - sum(a, axis=1)
    return a, b
"""


def test_what_goes_to_the_same_neighbour_goes_together(tmp_path, capsys):
    """Each turn both borders are sent at once; without latency each goes by itself."""
    path = tmp_path / "waves.shard"
    path.write_text(WAVES)
    large = WAVES.replace("64", "1048576")
    together, apart = (shardc.cost(large, machine=machine) for machine in ("h100-infiniband", "balanced"))
    assert [(each.op, each.times) for each in together.collectives] == [("permute", 10)]
    assert [(each.op, each.times) for each in apart.collectives] == [("permute", 10)] * 2
    assert together.bytes == apart.bytes == 10 * 4 * (16 + 1)
    assert emitted(capsys, str(path), "--combine", "1000").count("lax.ppermute(") == 1
    assert "off by" in emitted(capsys, str(path), "--combine", "1000", "--run")
