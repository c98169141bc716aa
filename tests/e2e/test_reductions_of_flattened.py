"""Reductions of flattened tensors send one number per device, whatever dimension is split."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardc
from shardc.cli.shardc import main

PROGRAM = """mesh m[x=4, y=2]

def main(a: f32[{dims}]) -> (f32[], f32[], i32[], i32[]):
    flat = reshape(a, ({size},))
    return sum(flat), max(flat), argmax(flat, axis=0), argmin(flat, axis=0)
"""


@pytest.mark.parametrize(
    ("dims", "size"), [("6, 8@x", 48), ("6, 7@x", 42), ("3, 8@x, 4@y", 96), ("4@y, 5, 3@x", 60)]
)
def test_each_device_reduces_its_block(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dims: str, size: int
) -> None:
    path = tmp_path / "prog.shard"
    path.write_text(PROGRAM.format(dims=dims, size=size))
    assert main([str(path), "--run"]) == 0
    assert "result 3: i32[], equal" in capsys.readouterr().out
    sent = [collective.bytes for collective in shardc.cost(path.read_text()).collectives]
    assert 0 < max(sent) <= 8
