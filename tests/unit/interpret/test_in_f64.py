"""--run compares the devices in f64 too: terms that the program's dtype does not show, decisions there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shardc.cli.shardc import main
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.interpret.arguments import arguments
from shardc.interpret.compare import compare
from shardc.interpret.compared import Compared
from shardc.interpret.reference import GraphReference
from shardc.passes.pipeline import run_to

PROGRAM = """mesh m[x=4]
def f(a: {type}[16@x], b: {type}[16@x]) -> {result}:
    return {value}
"""


def _graphs(value: str, wrong: str | None = None, type: str = "f32", result: str = "f32[]") -> list[Graph]:
    """A program, and what is compiled of it, or of what is wrong in its place."""
    texts = [PROGRAM.format(value=each, type=type, result=result) for each in (value, wrong or value)]
    whole, local = (read(text, "test.shard", {}, None) for text in texts)
    run_to(make_context(), local, "local")
    return [snapshot(whole).graph, snapshot(local).graph]


def _compared(graphs: list[Graph], alike: bool = True) -> Compared:
    whole, local = graphs
    (found,) = compare(GraphReference(whole, alike), local, arguments(whole, None), in_f64=True)
    return found


SMALL = "sum(a) * 1e6 + sum(b) * 1e-3"


@pytest.mark.parametrize("wrong", ["sum(a) * 1e6", "sum(a) * 1e6 + sum(b) * 2e-3"])
def test_a_term_that_f32_does_not_show(wrong: str) -> None:
    graphs = _graphs(SMALL, wrong)
    whole, local = graphs
    (plainly,) = compare(GraphReference(whole), local, arguments(whole, None))
    assert plainly.same
    found = _compared(graphs)
    assert not found.same and "DIFFERS from the single-device program in f64: off by" in str(found)


def test_another_program_may_have_other_literals() -> None:
    """0.1 in place of a tenth is said, and no difference."""
    found = _compared(_graphs("sum(a) / 10.0", "sum(a) * 0.1"), alike=False)
    assert found.same and "a term that f32 does not show, or another literal" in str(found)


RIGHT = {
    "as it is": (SMALL, "f32", "f32[]"),
    "products": ("softmax(a * 3.0) * mean(b)", "f32", "f32[16]"),
    "halves": ("(a.astype(f16) * b.astype(f16)).astype(f32) + sum(a)", "f32", "f32[16]"),
    "bytes": ("(a.astype(f8E4M3FN).astype(f32) * sum(b))", "f32", "f32[16]"),
    "bf16": ("tanh(a) * mean(b)", "bf16", "bf16[16]"),
    "rounded": ("floor(sum(a) * 7.0) + round(b)", "f32", "f32[16]"),
    "the greatest": ("b[argmax(a)]", "f32", "f32[]"),
    "integers": ("sum((a * 9.0).astype(i32))", "f32", "i32[]"),
    "f64": ("sum(a) + sum(b)", "f64", "f64[]"),
    "masked": ("softmax(where(a > 0.0, b, -1e9) + -1e9) * 1e9", "f32", "f32[16]"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_right_in_f64(name: str) -> None:
    value, type, result = RIGHT[name]
    found = _compared(_graphs(value, None, type, result))
    assert found.same and (found.wide is None) == (name in ("f64", "integers")), str(found)


def test_a_decision_that_falls_otherwise_in_f64(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sum that is 1/2, of terms that the devices add in another order than one device does."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((64, 256)) * 1e-3).astype(np.float32)
    x[:, 0], x[:, -1] = 1e9, -1e9
    x[:, 1] = 0.5 - x[:, 2:-1].astype(np.float64).sum(1)
    np.savez("in.npz", allow_pickle=False, x=x)
    Path("p.shard").write_text(
        "mesh m[d=8]\ndef f(x: f32[64, 256@d]) -> f32[64]:\n    return floor(sum(x, axis=1) + 0.5)\n"
    )
    assert main(["p.shard", "--run", "--inputs", "in.npz"]) == 0
    assert "DIFFERS" not in capsys.readouterr().out
