"""ONNX's formalism over whole models: what is inferred, what moves, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardc.cli.layout import main
from shardc.layout import LayoutError
from shardc.layout.onnx.graph import NodeResult, check_model
from shardc.layout.onnx.model import DeviceConfiguration
from shardc.layout.onnx.model_text import read_model

ROWS = "device: [-1, -2] device_map: {-1: [0, 1], -2: [2, 3]} sharded_dim { axis: 0 num_shards: 2 }"
COLUMNS = "device: [-1, -2] device_map: {-1: [0, 2], -2: [1, 3]} sharded_dim { axis: 1 num_shards: 2 }"
PRODUCT = f"""
node {{ op_type: "MatMul" input: "a" input: "b" output: "c" device_configurations {{
  configuration_id: "four" pipeline_stage: 1
  sharding_spec {{ tensor_name: "a" {ROWS} }} sharding_spec {{ tensor_name: "b" {COLUMNS} }} }} }}
"""


def model(nodes: str, configurations: str = 'configuration { name: "four" num_devices: 4 }') -> str:
    return f"""
{configurations}
opset_import {{ version: 18 }}
graph {{
  input {{ name: "a" shape: [M, 8] }}
  input {{ name: "b"
    type {{ tensor_type {{ shape {{ dim {{ dim_value: 8 }} dim {{ dim_param: "N" }} }} }} }} }}
  initializer {{ name: "axes" dims: 1 data_type: 7 int64_data: 1 }}
  {nodes}
}}
"""


def checked(nodes: str) -> list[NodeResult]:
    return check_model(read_model(model(nodes)))


def test_inputs_take_their_producers_specification() -> None:
    product, relu = checked(PRODUCT + 'node { op_type: "Relu" input: "c" output: "d" }')
    assert [move.name for move in product.repartition] == ["a", "b"] and product.redistribute == ()
    assert product.repartition[0].source is None  # a model's input is unsharded
    assert relu.repartition == () and relu.natural and product.natural
    assert relu.natural.spec == product.natural.spec and relu.natural.shape == ("M", "N")


def test_a_stated_output_is_a_redistribution() -> None:
    total = f"""node {{ op_type: "ReduceSum" input: "c" input: "axes" output: "e" device_configurations {{
      configuration_id: "four" pipeline_stage: 2
      sharding_spec {{ tensor_name: "e" device: [0, 2] sharded_dim {{ axis: 0 num_shards: 2 }} }} }} }}
      node {{ op_type: "Relu" input: "e" output: "f" device_configurations {{
      sharding_spec {{ tensor_name: "e" {ROWS} }} }} }}"""
    found = checked(PRODUCT + total)[1:]
    assert [result.verdict for result in found] == ["valid", "valid"]
    (move,) = found[0].redistribute
    assert move.source and move.source.holders() == ((0, 1), (2, 3))
    assert move.target and move.target.device == (0, 2)
    assert found[0].natural and found[0].natural.combine == "sum"
    assert found[0].received == (("c", 1),) and found[0].pipeline_stage == 2
    (back,) = found[1].repartition
    assert back.source == move.target


def test_a_specification_that_says_the_same_moves_nothing() -> None:
    same = "device: [0, 1, 2, 3] sharded_dim { axis: -2 num_shards: 2 } sharded_dim { axis: 1 num_shards: 2 }"
    node = f"""node {{ op_type: "Relu" input: "c" output: "d" device_configurations {{
      sharding_spec {{ tensor_name: "c" {same} }} }} }}"""
    assert checked(PRODUCT + node)[1].repartition == ()


def test_verdicts() -> None:
    nodes = """
    node { op_type: "Softmax" input: "c" output: "d" }
    node { op_type: "Relu" input: "d" output: "e" }
    node { op_type: "Conv" input: "c" input: "c" output: "f" }
    node { op_type: "Add" input: "c" input: "a" output: "g" }
    """
    found = checked(PRODUCT + nodes)[1:]
    assert [result.verdict for result in found] == [
        "not covered by the document", "unsupported", "unsupported", "invalid",
    ]  # fmt: skip
    assert found[1].reason == "input d comes from a node that was refused"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model('node { op_type: "Relu" input: "z" output: "y" }'), "input z of Relu is made by no node"),
        (model('node { op_type: "Relu" input: "a" }'), "a node Relu without an output"),
        (model('node { op_type: "Relu" inputs: "a" }'), "a NodeProto has no inputs"),
        (model("", 'configuration { name: "x" num_devices: 2 device: "cuda:0" }'), "names 1"),
        (model("", 'configuration { name: "x" }'), "needs num_devices"),
        (model("", 'configuration { name: "x" num_devices: 1 } configuration { name: "y" num_devices: 1 }'),
         "there is no configuration None; the model has x, y"),
    ],
)  # fmt: skip
def test_models_that_are_none(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        check_model(read_model(text))


def test_stages_run_in_order() -> None:
    early = 'node { op_type: "Relu" input: "c" output: "d" device_configurations { pipeline_stage: 0 } }'
    assert checked(PRODUCT + early)[1].reason == "stage 0 needs c of stage 1, which runs later"


def test_configurations() -> None:
    assert DeviceConfiguration("two", 2, ("cuda:0", "cuda:1")).device[1] == "cuda:1"
    both = 'configuration { name: "one" num_devices: 1 } configuration { name: "four" num_devices: 4 }'
    assert check_model(read_model(model(PRODUCT, both)), "one")[0].repartition == ()
    assert len(check_model(read_model(model(PRODUCT, both)), "four")[0].repartition) == 2
    with pytest.raises(LayoutError, match="MatMul is configured for four, which the model does not declare"):
        check_model(read_model(model(PRODUCT, 'configuration { name: "one" num_devices: 1 }')))
    small = model(PRODUCT.replace('"four"', '"one"'), 'configuration { name: "one" num_devices: 1 }')
    assert "out of range; there are 1" in check_model(read_model(small))[0].reason


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.txt"
    path.write_text(model(PRODUCT))
    assert main(["onnx-check", str(path)]) == 0
    text = capsys.readouterr().out
    assert "0  MatMul         1  valid    repartition a: unsharded -> {device = [-1, -2]" in text
    path.write_text(model(PRODUCT + 'node { op_type: "Add" input: "c" input: "a" output: "g" }'))
    assert main(["onnx-check", str(path), "--format", "json"]) == 1
    said = capsys.readouterr()
    assert [node["verdict"] for node in json.loads(said.out)] == ["valid", "invalid"]
    assert said.err == "shardc-layout: error: invalid nodes: 1\n"
    assert main(["onnx-check", str(tmp_path / "none")]) == 1
    assert "cannot read" in capsys.readouterr().err
