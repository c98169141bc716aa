"""Collectives in stages: programs that still compute the same, on every target."""

from __future__ import annotations

import pytest

import shardc
from shardc.cli.shardc import main

PROGRAM = """mesh pod[a=4, b=2, c=4]

def main(x: f32[64@(a, c), 7, 3], y: f32[64@(c, a, b), 24]) -> (f32[7, 3], f32[64, 24], f32[7, 3]):
    return sum(x, axis=0), y, max(x, axis=0)
"""
SUM = """mesh pod[data=16]

def main(x: f32[16@data, 32, 8], y: f32[16@data, 5]) -> (f32[32, 8], f32[5]):
    return sum(x, axis=0), sum(y, axis=0)
"""


@pytest.mark.parametrize("target", ["jax", "numpy", "mpi"])
@pytest.mark.parametrize("text", [PROGRAM, SUM], ids=["orders", "sums"])
def test_the_same_results(tmp_path, capsys, text, target):
    path = tmp_path / "prog.shard"
    path.write_text(text)
    options = ["--machine", "h100-infiniband", "--target", target]
    assert main([str(path), *options, "--combine", "0"]) == 0
    assert "in stages" in " ".join(capsys.readouterr().out.replace("# ", "").split())
    assert main([str(path), *options, "--run"]) == 0


def test_they_take_less():
    """A sum over two nodes: the stages that the machine names, and less than one ring."""
    flat = shardc.cost(SUM, machine="h100-infiniband", combine=0, links={"data": "InfiniBand"}, tries=0)
    staged = shardc.cost(SUM, machine="h100-infiniband", combine=0, tries=0)
    assert {entry.axes for entry in flat.collectives} == {("data",)}
    assert {entry.axes for entry in staged.collectives} == {("data_0",), ("data_1",)}
    assert staged.time is not None
    assert flat.time is not None
    assert staged.time.communication_ns < flat.time.communication_ns


def test_proved(tmp_path, capsys):
    path = tmp_path / "prog.shard"
    path.write_text(SUM)
    assert main([str(path), "--machine", "h100-infiniband", "--combine", "0", "--prove"]) == 0
    assert "not proved" not in capsys.readouterr().out
