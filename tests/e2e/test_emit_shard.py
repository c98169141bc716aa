"""--emit shard on the command line: its output is a program that runs, prints and compiles like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardc.cli.driver import load
from shardc.cli.shardc import main as shardc
from shardc.dialects.snapshot import snapshot
from shardc.interpret.arguments import random_inputs

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/*.shard"))


def _inputs(program: Path, folder: Path) -> str:
    """A file with the same random arguments for a program, by the names that it has for them."""
    graph = snapshot(load(str(program), {}, None)).graph
    given = graph.main.body.args
    names = [str(graph.values[value].loc.name) for value in given]
    arrays: dict[str, Any] = dict(zip(names, random_inputs(graph.types(given)), strict=True))
    np.savez(folder / "inputs.npz", **arrays)
    return str(folder / "inputs.npz")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_to_the_same_results(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emitted = tmp_path / path.name
    assert shardc([str(path), "--emit", "shard", "-o", str(emitted)]) == 0
    for program in (path, emitted):
        outputs = str(tmp_path / f"{program.parent.name}.npz")
        assert (
            shardc([str(program), "--run", "--inputs", _inputs(program, tmp_path), "--outputs", outputs]) == 0
        )
    assert "DIFFERS" not in capsys.readouterr().out
    with (
        np.load(tmp_path / f"{path.parent.name}.npz") as one,
        np.load(tmp_path / f"{tmp_path.name}.npz") as two,
    ):
        assert one.files == two.files
        for name in one.files:
            np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_output_compiles_for_both_targets(path: Path, tmp_path: Path) -> None:
    emitted = tmp_path / path.name
    assert shardc([str(path), "--emit", "shard", "-o", str(emitted)]) == 0
    for target in ("jax", "numpy"):
        assert shardc([str(emitted), "--target", target, "-o", str(tmp_path / f"{target}.py")]) == 0
        compile((tmp_path / f"{target}.py").read_text(), target, "exec")


def test_from_standard_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "sum.mlir"
    program.write_text(
        "func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {\n"
        "  %0 = stablehlo.add %x, %x : tensor<8x4xf32>\n  return %0 : tensor<8x4xf32>\n}\n"
    )
    assert shardc([str(program), "--emit", "shard"]) == 0
    assert "return x + x" in capsys.readouterr().out.replace("arg0", "x")


EMPTY = """sdy.mesh @m = <["x"=4]>
func.func @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<0x8xf32>, tensor<3x0x2xi32>) {
  %table = stablehlo.constant dense<> : tensor<0x2xf32>
  %none = stablehlo.constant dense<> : tensor<3x0x2xi32>
  %0 = stablehlo.dot_general %table, %x, contracting_dims = [1] x [1]
    : (tensor<0x2xf32>, tensor<8x2xf32>) -> tensor<0x8xf32>
  return %0, %none : tensor<0x8xf32>, tensor<3x0x2xi32>
}
"""


def test_constants_without_elements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, emitted = tmp_path / "empty.mlir", tmp_path / "empty.shard"
    program.write_text(EMPTY)
    assert shardc([str(program), "--emit", "shard", "-o", str(emitted)]) == 0
    assert shardc([str(emitted), "--run"]) == 0
    assert "result 1: i32[3, 0, 2], as written" in capsys.readouterr().out
