"""Device configurations in and out, the check of the rules, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

from shardc.cli.layout import main as layout
from shardc.cli.shardc import main
from shardc.compilation import lower
from shardc.diagnostics import collecting
from shardc.frontend.onnx.check import findings
from shardc.frontend.onnx.write import annotated, decided, proto_of
from shardc.layout.notations.onnx_text import read_spec
from shardc.options import Options
from tests.onnx_small import MESH, SHARDINGS, lowering, mlp, model, refused

# ---- shardings


def test_what_is_written_reads_back_to_the_same_layouts() -> None:
    first = lowering(mlp(), dims={"batch": 8}, mesh=MESH, shardings=SHARDINGS)
    lower(first.module, Options(), "sharded")
    proto, changed = annotated(first)
    assert changed == []
    onnx.checker.check_model(proto)
    assert [c.name for c in proto.configuration] == ["pod"]
    for node in proto.graph.node:
        (part,) = node.device_configurations
        assert {spec.tensor_name for spec in part.sharding_spec} == {*node.input, *node.output}
    second = lowering(proto, dims={"batch": 8})
    lower(second.module, Options(), "sharded")
    again, _ = annotated(second)
    assert again.SerializeToString(deterministic=True) == proto.SerializeToString(deterministic=True)
    assert {name: t for name, (t, _) in decided(second).items()} == {
        name: t for name, (t, _) in decided(first).items()
    }


def test_onnx_ir_reads_what_is_written() -> None:
    ir = pytest.importorskip("onnx_ir")
    first = lowering(mlp(), dims={"batch": 8}, mesh=MESH, shardings=SHARDINGS)
    lower(first.module, Options(), "sharded")
    proto, _ = annotated(first)
    again = ir.to_proto(ir.from_proto(proto))
    assert [n.device_configurations for n in again.graph.node] == [
        n.device_configurations for n in proto.graph.node
    ]


def _stated(**specs: str) -> ModelProto:
    proto = mlp()
    configuration = proto.configuration.add()
    configuration.name, configuration.num_devices = "four", 4
    for node in proto.graph.node:
        part = node.device_configurations.add()
        part.configuration_id = "four"
        for name, spec in specs.items():
            if name in (*node.input, *node.output):
                part.sharding_spec.append(proto_of(read_spec(spec), name))
    return proto


HALVES = "{device: [-1, -2] device_map: {-1: [0, 1], -2: [2, 3]} sharded_dim: [{axis: 0 num_shards: 2}]}"
CROSS = "{device: [-1, -2] device_map: {-1: [0, 2], -2: [1, 3]} sharded_dim: [{axis: -1 num_shards: 2}]}"
ODD = "{device: [-1, -2] device_map: {-1: [0, 1, 2], -2: [3]} sharded_dim: [{axis: 0 num_shards: 2}]}"


def test_device_groups_become_axes() -> None:
    found = lowering(_stated(x=HALVES, W1=CROSS), dims={"batch": 8})
    assert found.mesh is not None
    assert found.mesh.axes == (("d0", 2), ("d1", 2))


def test_device_groups_that_do_not_factor_are_shown() -> None:
    found = refused(_stated(x=ODD), dims={"batch": 8})
    assert "x: [0, 1, 2], [3]" in found
    assert "note: --mesh and --shard state other shardings; shardc-layout onnx-check" in found
    apart = refused(_stated(x=HALVES, y="{device: [0]}"), dims={"batch": 8})
    assert "x and y are on different devices" in apart
    assert "note: every tensor is on all devices of the program's mesh, as copies" in apart


def test_a_configuration_is_chosen_by_name() -> None:
    proto = _stated(x=HALVES)
    assert "has no configuration two; it has four" in refused(proto, dims={"batch": 8}, configuration="two")
    other = proto.configuration.add()
    other.name, other.num_devices = "one", 1
    assert "2 device configurations: four, one" in refused(proto, dims={"batch": 8})
    assert lowering(proto, dims={"batch": 8}, configuration="four").mesh is not None


def test_check_names_the_axis_that_a_rule_rejects() -> None:
    split = "{device: [0, 1, 2, 3] sharded_dim: [{axis: 1 num_shards: 4}]}"
    whole = "{device: [-1] device_map: {-1: [0, 1, 2, 3]}}"
    found = lowering(_stated(x=split, W1=whole), dims={"batch": 8})
    lower(found.module, Options(), "sharded")
    lines = [str(line) for line in findings(found)]
    assert any(line.startswith("first: MatMul (rule: matmul): axis 1 of x: invalid: ") for line in lines)


def test_check_tells_invalid_unsupported_and_not_covered_apart() -> None:
    """Split axes of a listed operator, of one that the document leaves out, of two that it does not have."""
    nodes = [
        helper.make_node("Add", ["x", "row"], ["a"], name="sum"),
        helper.make_node("GlobalMaxPool", ["a"], ["p"], name="pool"),
        helper.make_node("Softmax", ["a"], ["s"], name="soft"),
        helper.make_node("Own", ["a"], ["o"], domain="own", name="own"),
        helper.make_node("Softmax", ["whole"], ["t"], name="unsplit"),
    ]
    proto = model(nodes, {"x": [4, 2, 6], "row": [1, 2, 6], "whole": [2, 2]}, ["p", "s", "o", "t"])
    relu = helper.make_node("Relu", ["v"], ["w"])
    proto.functions.append(
        helper.make_function("own", "Own", ["v"], ["w"], [relu], [helper.make_opsetid("", 18)])
    )
    proto.opset_import.append(helper.make_opsetid("own", 1))
    split = {"x": "P('data', None, 'model')", "row": "P(None, None, None)", "a": "P('data', None, 'model')"}
    found = lowering(proto, mesh=MESH, shardings=split)
    lower(found.module, Options(), "sharded")
    lines = [str(line) for line in findings(found)]
    together = "axis 2 of input 0 is in 2 shards"
    assert [line for line in lines if line.startswith("sum: Add (rule: broadcast): axis 2 of x: invalid: ")]
    assert together in lines[0]
    left = "unsupported: the document lists GlobalMaxPool as unsupported"
    assert lines[1:] == [
        f"pool: GlobalMaxPool: axis 0 of a: {left}",
        f"pool: GlobalMaxPool: axis 2 of a: {left}",
        *(
            f"{node}: axis {axis} of a: not covered by the document: the document does not mention {op}"
            for node, op in (("soft: Softmax", "Softmax"), ("own: own:Own", "own:Own"))
            for axis in (0, 2)
        ),
    ]


def test_check_sees_axes_that_are_an_input_and_inputs_that_are_left_out() -> None:
    """Reductions over a whole axis and over a split one are valid; so is a bound without the other."""
    nodes = [
        helper.make_node("ReduceSum", ["x", "last"], ["r"], name="whole"),
        helper.make_node("ReduceSum", ["x", "first"], ["s"], name="parts"),
        helper.make_node("Clip", ["x", "", "top"], ["c"], name="clip"),
    ]
    stored = {"last": np.array([1]), "first": np.array([0]), "top": np.float32(2)}
    proto = model(nodes, {"x": [4, 6]}, ["r", "s", "c"], **stored)
    found = lowering(proto, mesh=MESH, shardings={"x": "P('data', None)"})
    lower(found.module, Options(), "sharded")
    assert findings(found) == []


def test_only_what_is_invalid_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model([helper.make_node("Softmax", ["x"], ["y"])], {"x": [4, 4]}, ["y"]), path)
    wishes = [str(path), "--mesh", MESH, "--check", "--shard"]
    assert main([*wishes, "x=P('data')"]) == 0
    assert "y: Softmax: axis 0 of x: not covered by the document" in capsys.readouterr().out
    onnx.save(model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [4, 4], "w": [4, 4]}, ["y"]), path)
    assert main([*wishes, "x=P(None, 'data')", "--shard", "w=P(None, None)"]) == 1
    assert "y: MatMul (rule: matmul): axis 1 of x: invalid: " in capsys.readouterr().out


def test_specs_of_wrong_tensors_and_axes_are_errors() -> None:
    far = "{device: [0, 1] sharded_dim: [{axis: 5 num_shards: 2}]}"
    assert "axis 5 is outside a tensor of 2 dimensions" in refused(_stated(x=far), dims={"batch": 8})
    assert "no tensor of the program is called z" in refused(
        mlp(), dims={"batch": 8}, mesh=MESH, shardings={"z": "P('data')"}
    )
    assert "is no sharding" in refused(mlp(), dims={"batch": 8}, mesh=MESH, shardings={"x": "P('dat')"})


def test_specs_of_other_sizes_are_errors() -> None:
    def rows(size: int) -> ModelProto:
        dims = f"[{{axis: 0 simple_sharding: [{{dim_value: {size} num_shards: 4}}]}}]"
        return _stated(W1=f"{{device: [0, 1, 2, 3] sharded_dim: {dims}}}")

    assert lowering(rows(16), dims={"batch": 8}).module
    wrong = refused(rows(12), dims={"batch": 8})
    assert wrong == "shardc: error: m.onnx: sharding of W1: axis 0 has 16 elements, its factors are [12]"


def test_a_sharding_of_what_is_known_while_compiling_is_an_error() -> None:
    places = model([helper.make_node("NonZero", ["w"], ["y"])], {}, ["y"], w=np.ones((8, 4), np.int32))
    message = refused(places, mesh=MESH, shardings={"w": "P('data')"})
    assert "what is known while compiling cannot be split: w" in message
    assert "did you mean" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("P('c')", "JAX PartitionSpec: mesh pod has no axis c"),
        ("jax.sharding.PartitionSpec('c')", "JAX PartitionSpec: mesh pod has no axis c"),
        ('<@pod, [{"c"}, {}]>', "Shardy: mesh pod has no axis c"),
        ("{devices=[2,1]<=[2]}", "HLO sharding: 2 devices are not those of mesh pod"),
        ("S(0)", "OneFlow SBP: 1 components for the 2 axes of mesh pod"),
        ("flow.sbp.split(0)", "OneFlow SBP: 1 components for the 2 axes of mesh pod"),
        ("(Shard(0),)", "PyTorch DTensor: 1 components for the 2 axes of mesh pod"),
        ("Layout((2,), ('c',))('c')", "MindSpore Layout: the tensor map has 1 entries, the tensor 2"),
        ("device: 0", "ONNX ShardingSpecProto: the specification is for devices [0]"),
    ],
)
def test_what_is_wrong_with_a_sharding_is_said_in_its_own_notation(text: str, said: str) -> None:
    wrong = refused(mlp(), dims={"batch": 8}, mesh=MESH, shardings={"x": text})
    assert f"--shard x={text} is no sharding:\n    {said}" in wrong
    assert wrong.count("\n") == 1


def test_a_sharding_in_no_notation() -> None:
    wrong = refused(mlp(), dims={"batch": 8}, mesh=MESH, shardings={"x": "data"})
    assert "--shard x=data is no sharding in any notation: MindSpore Layout, JAX PartitionSpec," in wrong
    assert "note: such as --shard \"x=P('data')\"" in wrong


WHOLE = "{device: [-1] device_map: {-1: [0, 1, 2, 3]}}"


def test_configurations_that_contradict_themselves_are_errors() -> None:
    twice = _stated(W1=HALVES)
    part = twice.graph.node[0].device_configurations[0]
    part.sharding_spec.append(proto_of(read_spec(WHOLE), "W1"))
    assert "node first has two shardings of W1 for four" in refused(twice, dims={"batch": 8})
    lost = _stated(W1=HALVES)
    lost.graph.node[1].device_configurations[0].configuration_id = "five"
    assert "has shardings for configuration five; the model has four" in refused(lost, dims={"batch": 8})
    names = _stated(W1=HALVES)
    names.configuration.append(names.configuration[0])
    assert "two device configurations called four" in refused(names, dims={"batch": 8})


def test_factors_that_interleave_say_why_they_are_no_sharding() -> None:
    """16 rows as 4 x 4, each in 2: a device holds rows 0, 1 and 4, 5."""
    halves = "{dim_value: 4 num_shards: 2}"
    dims = f"[{{axis: 0 simple_sharding: [{halves} {halves}]}}]"
    rows = f"{{device: [0, 1, 2, 3] sharded_dim: {dims}}}"
    assert "each shard of axis 0 has separate stretches of it" in refused(_stated(W1=rows), dims={"batch": 8})


def test_stages_are_not_used_and_that_is_said() -> None:
    proto = _stated(W1=HALVES)
    proto.graph.node[0].device_configurations[0].pipeline_stage = 1
    with collecting() as warnings:
        lowering(proto, dims={"batch": 8})
    assert [w.message for w in warnings] == ["m.onnx: pipeline stages are not used: 1 nodes state one"]


def test_a_branch_that_is_not_taken_has_specifications_too() -> None:
    def branch(op: str) -> onnx.GraphProto:
        out = helper.make_tensor_value_info(op, onnx.TensorProto.FLOAT, None)
        return helper.make_graph([helper.make_node(op, ["x"], [op])], op, [], [out])

    bodies: dict[str, Any] = {"then_branch": branch("Abs"), "else_branch": branch("Neg")}
    proto = model([helper.make_node("If", ["c"], ["y"], **bodies)], {"x": [8]}, ["y"], c=np.array(True))
    found = lowering(proto, mesh=MESH, shardings={"x": "P('data')"})
    lower(found.module, Options(), "sharded")
    written, _ = annotated(found)
    for attribute in written.graph.node[0].attribute:
        (node,) = attribute.g.node
        specs = {spec.tensor_name: spec for spec in node.device_configurations[0].sharding_spec}
        assert set(specs) == {"x", node.op_type}
        assert len(specs[node.op_type].sharded_dim) == (node.op_type == "Abs")
    again = lowering(written)
    assert again.mesh is not None
    lower(again.module, Options(), "sharded")
    assert findings(again) == []


# ---- the command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(mlp(), path)
    wishes = ["-D", "batch=8", "--mesh", MESH, "--shard", "x=P('data')", "--shard", "W1=P(None, 'model')"]
    assert main([str(path), *wishes, "--run"]) == 0
    assert main([str(path), *wishes, "--emit", "onnx", "-o", str(out)]) == 0
    assert main([str(out), "-D", "batch=8", "--check"]) == 0
    assert main([str(out), "-D", "batch=8", "--emit", "numpy"]) == 0
    assert "def load_weights(model):" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["p.shard", "--mesh", MESH])
    assert "--mesh is for .onnx models" in capsys.readouterr().err
    path.write_bytes(b"no model")
    assert main([str(path)]) == 1
    assert "is no ONNX model" in capsys.readouterr().err


def test_the_checker_reads_binary_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Valid, invalid and not covered are told apart; a reduction's axes are read, weights are not."""
    proto = _stated(x=HALVES, h="{device: [0, 1, 2, 3] sharded_dim: [{axis: 0 num_shards: 4}]}")
    proto.graph.node[0].device_configurations[0].pipeline_stage = 1
    nodes = [
        helper.make_node("Constant", [], ["axes"], value_ints=[1]),
        helper.make_node("ReduceSum", ["y", "axes"], ["s"], keepdims=0),
        helper.make_node("Softmax", ["s"], ["t"]),
        helper.make_node("MatMul", ["x", "W2"], ["u"], name="wrong"),
    ]
    proto.graph.node.extend(nodes)
    path = tmp_path / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    assert layout(["onnx-check", str(path), "--format", "json"]) == 1
    said = capsys.readouterr()
    found = json.loads(said.out)
    verdicts = ["valid", "valid", "valid", "valid", "not covered by the document", "invalid"]
    assert [(node["op_type"], node["verdict"]) for node in found] == [
        *zip(["MatMul", "Relu", "MatMul", "ReduceSum", "Softmax", "MatMul"], verdicts, strict=True)
    ]
    assert found[0]["pipeline_stage"] == 1
    assert [move["tensor"] for move in found[0]["repartition"]] == ["x"]
    assert [move["tensor"] for move in found[0]["redistribute"]] == ["h"]
    assert found[3]["shape"] == ["batch"]
    assert "they run together" in found[5]["reason"]
    assert said.err == "shardc-layout: error: invalid nodes: 5\n"
    path.write_bytes(b"no model")
    assert layout(["onnx-check", str(path)]) == 1
    assert "is no ONNX model" in capsys.readouterr().err
