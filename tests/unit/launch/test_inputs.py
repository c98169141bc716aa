"""Arrays in files that a program does not take are said once."""

from __future__ import annotations

from typing import Any

import numpy as np

from shardc.launch.program import inputs_of, placed, saying


def test_what_the_program_does_not_take_is_named(tmp_path, capsys):
    path = str(tmp_path / "in.npz")
    others: dict[str, Any] = {name: np.zeros(3, np.float32) for name in "fedcba"}
    np.savez(path, x=np.ones((4, 2), np.float32), **others)
    layouts = placed({"x": ((4, 2), np.float32, ())}, None)
    for rank in range(3):
        (block,) = inputs_of(path, layouts, [0], saying(rank))["x"].values()
        assert block.sum() == 8
    said = f"warning: {path} has 6 arrays that the program does not take: a, b, c, d, …\n"
    assert capsys.readouterr().err == said


def test_nothing_is_said_where_all_are_taken(tmp_path, capsys):
    path = str(tmp_path / "in.npz")
    np.savez(path, x=np.ones(4, np.float32))
    inputs_of(path, placed({"x": ((4,), np.float32, ())}, None), [0], saying(0))
    assert capsys.readouterr().err == ""
