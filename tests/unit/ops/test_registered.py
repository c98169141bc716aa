"""An operation that an embedding compiler defines is read, propagated, made per device, run and printed."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from shardc.cli.opt import main as shardc_opt
from shardc.cli.shardc import main as shardc
from shardc.ops import OpDef, Syntax, define
from shardc.ops.rule_builder import pointwise
from shardc.ops.untyped import Types, UntypedOp

PROGRAM = """\
sdy.mesh @pod = <["data"=2, "model"=4]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>},
                %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@pod, [{}, {"model"}]>})
    -> tensor<8x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = "toy.shrink"(%0) <{by = 5.000000e-01 : f64, name = "a"}> : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}
"""


def _types(op: UntypedOp) -> Types:
    if not 0 <= op.get("by", float) <= 1:
        raise op.error("needs a part between 0 and 1")
    return (op.one(),)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    define(
        OpDef(
            name="toy.shrink",
            doc="x, but smaller.",
            infer=_types,
            rule=lambda op: pointwise(op, monotone=[[0]]),
            meaning=lambda op, arrays, *bodies: [arrays[0] * np.float32(1 - cast(float, op.attrs["by"]))],
            syntax=Syntax(("operand",), attrs={"by": "float", "name": "str?"}),
        )
    )
    path = tmp_path / "toy.mlir"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_it_is_made_per_device(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shardc_opt([str(program), "-p", "propagate,insert-reshards,localize"]) == 0
    text = capsys.readouterr().out
    assert '"toy.shrink"' in text
    assert "(tensor<4x8xf32>) -> tensor<4x8xf32>" in text
    assert "all_gather" not in text


def test_it_runs(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shardc([str(program), "--run"]) == 0
    assert "result 0: f32[8, 32], equal" in capsys.readouterr().out


def test_its_types_are_checked(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.replace("5.000000e-01", "2.000000e+00"), encoding="utf-8")
    assert shardc([str(program)]) == 1
    assert "shrink needs a part between 0 and 1" in capsys.readouterr().err


def test_a_name_is_defined_once(program: Path) -> None:
    with pytest.raises(ValueError, match=r"operation toy\.shrink is defined already"):
        define(OpDef(name="toy.shrink", doc="Another."))
