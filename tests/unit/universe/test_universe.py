"""xDSL's own xdsl-opt with shardc's passes, alone and beside another package that publishes `stablehlo`."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
POINT = "shardc.universe:UNIVERSE"
PROGRAM = """"builtin.module"() ({
  "sdy.mesh"() <{sym_name = "m", mesh = #sdy.mesh<["x"=2, "y"=4]>}> : () -> ()
  "func.func"() <{sym_name = "main", function_type = (tensor<8x16xf32>) -> tensor<8x16xf32>,
                  arg_attrs = [{sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}]}> ({
  ^bb0(%a: tensor<8x16xf32>):
    %0 = "stablehlo.tanh"(%a) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    "func.return"(%0) : (tensor<8x16xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""
PLUGIN = """
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.universe import Universe


@irdl_op_definition
class TanhOp(IRDLOperation):
    name = "stablehlo.tanh"
    operand = operand_def()
    result = result_def()


UNIVERSE = Universe(all_dialects={"stablehlo": lambda: Dialect("stablehlo", [TanhOp])})
"""


def publish(folder: Path, name: str, point: str) -> None:
    """An installed distribution, as far as importlib.metadata can tell."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[xdsl.universe]\n{name} = {point}\n")


def xdsl_opt(folder: Path, *options: str) -> str:
    (folder / "prog.mlir").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, "-c", "from xdsl.tools.xdsl_opt import main; main()", *options, "prog.mlir"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    publish(tmp_path, "shardc", POINT)
    return tmp_path


def test_the_entry_point_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["xdsl.universe"] == {"shardc": POINT}


def test_xdsl_opt_runs_our_passes_on_unregistered_operations(folder: Path) -> None:
    text = xdsl_opt(folder, "--allow-unregistered-dialect", "-p", "shardc-propagate{strategy=basic}")
    assert '#sdy.sharding_per_value<[<@m, [{"x", ?}, {"y", ?}]>]>' in text


def test_a_second_package_that_publishes_stablehlo(folder: Path) -> None:
    (folder / "other_plugin.py").write_text(PLUGIN)
    publish(folder, "other", "other_plugin:UNIVERSE")
    plain = xdsl_opt(folder, "--allow-unregistered-dialect")
    assert '"stablehlo.tanh"' in plain
    text = xdsl_opt(folder, "--allow-unregistered-dialect", "-p", "shardc-propagate,shardc-insert-reshards")
    assert 'stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {"y"}]>]>}' in text


def test_only_passes_are_published_and_their_names_are_ours() -> None:
    from xdsl.transforms import get_all_passes

    from shardc.passes.pipeline import PASSES
    from shardc.universe import UNIVERSE

    assert not UNIVERSE.all_dialects and not UNIVERSE.all_targets
    assert [name.removeprefix("shardc-") for name in UNIVERSE.all_passes] == list(PASSES)
    assert all(name.startswith("shardc-") for name in UNIVERSE.all_passes)
    assert not set(UNIVERSE.all_passes) & set(get_all_passes())
    assert all(factory().name == name for name, factory in UNIVERSE.all_passes.items())


def test_an_error_of_a_pass_is_one_of_xdsl_opt(folder: Path) -> None:
    with pytest.raises(AssertionError, match="hope is no strategy"):
        xdsl_opt(folder, "--allow-unregistered-dialect", "-p", "shardc-propagate{strategy=hope}")
