"""Explanations: where axes came from, and what stopped them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import shardc
from shardc.cli.shardc import main
from shardc.diagnostics import ShardcError
from shardc.explain import explain
from shardc.explain.records import Stopped, ValueReport

MLP = """mesh pod[data=2, model=4]

def main(x: f32[32@data, 64], w1: f32[64, 256@model], w2: f32[256, 64], u: f32[100, 100]):
    h = tanh(x @ w1)
    y = h @ w2
    return y, u
"""


ADD = ("%c = stablehlo.add %a, %b : tensor<8xf32>", "return %c : tensor<8xf32>")


def report(text: str, name: str) -> ValueReport:
    (found,) = explain(text, name, file="prog.shard").values
    return found


def stopped(text: str, name: str) -> list[Stopped]:
    return list(report(text, name).stopped)


def mlir(arguments: str, *lines: str, meshes: str = '@m = <["x"=2, "y"=4]>') -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"sdy.mesh {meshes}\nfunc.func @main({arguments}) -> tensor<8xf32> {{\n{body}\n}}\n"


def arg(name: str, sharding: str, shape: str = "8") -> str:
    return f"%{name}: tensor<{shape}xf32> {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}"


def test_an_axis_is_traced_to_its_annotation() -> None:
    h = report(MLP, "h")
    assert (h.sharding, h.layout, h.where) == ("[data?, model?]", "[data, model]", "prog.shard:4")
    data, model = h.origins
    assert (data.axis, data.dim, data.annotated, data.annotation) == ("data", 0, "x", "prog.shard:3")
    assert [(s.operation, s.factor) for s in model.steps] == [("dot_general", "j"), ("tanh", "j")]
    assert [s.source for s in model.steps] == ["w1", "line 4"]


def test_an_axis_may_come_backwards() -> None:
    (origin,) = report(MLP, "w2").origins
    assert (origin.axis, origin.annotated) == ("model", "w1")
    assert [s.operation for s in origin.steps] == ["dot_general", "tanh", "dot_general"]


def test_an_annotation_is_its_own_origin() -> None:
    (origin,) = report(MLP, "x").origins
    assert origin.steps == () and origin.annotation == "prog.shard:3"


def test_what_the_planner_changed() -> None:
    y = report(MLP, "y")
    assert (y.sharding, y.layout) == ("[data?, -?]", "[data, -] partial(sum: model)")


def test_a_closed_dimension() -> None:
    text = mlir(arg("a", '[{"x"}]') + ", " + arg("b", "[{}]"), *ADD)
    (stop,) = stopped(text, "b")
    assert (stop.reason, stop.axis, stop.text) == ("closed", "x", "the annotation closes dimension 0")


def test_an_explicitly_replicated_axis() -> None:
    text = mlir(arg("a", '[{"x"}]') + ", " + arg("b", '[{?}], replicated={"x"}'), *ADD)
    assert [stop.reason for stop in stopped(text, "b")] == ["replicated"]


def test_a_conflict_names_the_other_annotation() -> None:
    text = mlir(arg("a", '[{"x"}]') + ", " + arg("b", '[{"y"}]'), *ADD)
    (stop,) = stopped(text, "b")
    assert (stop.reason, stop.axis, stop.by) == ("conflict", "x", "prog.shard:2")
    assert "dimension 0 is split by y, which b says" in stop.text
    assert explain(text).conflicts


def test_a_priority_is_named() -> None:
    late = arg("b", '[{"y", ?}p1]')
    text = mlir(arg("a", '[{"x", ?}]') + ", " + late, *ADD)
    found = {(stop.axis, stop.reason) for stop in stopped(text, "c")}
    assert ("y", "priority") in found


def test_a_part_that_does_not_divide() -> None:
    text = mlir(
        arg("a", '[{"x"}, {}]', "6x4"),
        "%b = stablehlo.reshape %a : (tensor<6x4xf32>) -> tensor<24xf32>",
        "%c = stablehlo.slice %b [0:8] : (tensor<24xf32>) -> tensor<8xf32>",
        "return %c : tensor<8xf32>",
        meshes='@m = <["x"=4]>',
    )
    assert [stop.reason for stop in stopped(text, "b")] == ["divides"]


def test_a_barrier() -> None:
    text = mlir(
        arg("a", '[{"x"}]'),
        "%b = sdy.propagation_barrier %a allowed_direction=BACKWARD : tensor<8xf32>",
        "return %b : tensor<8xf32>",
    )
    assert [stop.reason for stop in stopped(text, "b")] == ["barrier"]


def test_an_operation_without_a_rule() -> None:
    text = mlir(
        arg("a", '[{"x"}]'),
        "%b = stablehlo.custom_call @mystery(%a) : (tensor<8xf32>) -> tensor<8xf32>",
        "return %b : tensor<8xf32>",
    )
    (stop,) = stopped(text, "b")
    assert (stop.reason, stop.text) == ("no rule", "custom_call @mystery has no sharding rule")


def test_an_operation_without_a_rule_backwards() -> None:
    text = mlir(
        "%a: tensor<8xf32>",
        "%b = stablehlo.custom_call @mystery(%a) "
        '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>',
        "return %b : tensor<8xf32>",
    )
    (stop,) = stopped(text, "a")
    assert (stop.axis, stop.source, stop.reason) == ("x", "b", "no rule")


def test_what_a_constraint_states_stops_it_there() -> None:
    text = MLP.replace("h = tanh", "h: f32[32@data, 256] = tanh")
    (stop,) = [s for s in stopped(text, "h") if s.dim == 1]
    assert (stop.axis, stop.reason, stop.operation) == ("model", "closed", "tanh")


def test_the_tensor_that_cannot_take_an_axis_is_named() -> None:
    text = MLP.replace("h = tanh", "h: f32[32@data, 256] = relu")
    found = explain(text, "4", file="prog.shard").values
    texts = [stop.text for report in found for stop in report.stopped]
    assert "line 4, another tensor of the operation, cannot take model" in texts


def test_values_without_a_name_go_by_number_or_line() -> None:
    text = mlir(arg("a", '[{"x"}]'), "%0 = stablehlo.tanh %a : tensor<8xf32>", "return %0 : tensor<8xf32>")
    assert report(text, "%0") == report(text, "3")


def test_the_overview() -> None:
    overview = explain(MLP)
    assert [whole.name for whole in overview.replicated] == ["u"]
    assert overview.conflicts == () and overview.values == ()


def test_the_package_can_be_called() -> None:
    assert shardc.explain(MLP, "h", file="prog.shard").values == (report(MLP, "h"),)


def test_an_unknown_name() -> None:
    with pytest.raises(ShardcError, match="no tensor nobody"):
        explain(MLP, "nobody")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prog.shard"
    file.write_text(MLP)
    assert main([str(file), "--explain", "h"]) == 0
    assert "model on dimension 1: from w1" in capsys.readouterr().out
    assert main([str(file), "--explain"]) == 0
    out = capsys.readouterr().out
    assert "no conflicts" in out and "39.1 KiB" in out
    assert main([str(file), "--explain", "h", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["values"][0]["origins"][0]["annotated"] == "x"
    assert main([str(file), "--explain", "zz"]) == 1


def test_explain_needs_no_import_of_its_own() -> None:
    program = (
        "import shardc; print(shardc.explain('def main(x: f32[4]) -> f32[4]:\\n    return x\\n').conflicts)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("()\n", "")


def test_where_jax_has_an_operation_is_no_name() -> None:
    text = """
sdy.mesh @pod = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"x"}]>} loc("a"))
    -> tensor<8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8xf32> loc("jit(f)/tanh"("f.py":3:4))
  return %0 : tensor<8xf32> loc("f.py":3:4)
} loc(unknown)
"""
    reports = shardc.explain(text, "3", language="mlir").values
    assert {report.name for report in reports} == {"a", "line 3"}
    with pytest.raises(ShardcError, match="the names are: a; a line"):
        shardc.explain(text, "nobody", language="mlir")
