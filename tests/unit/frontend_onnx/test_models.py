"""Models made here: shapes, weights, errors, names, device configurations, and what cannot be trusted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import shardc
from shardc.cli.shardc import main
from shardc.compilation import lower
from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.check import rejected
from shardc.frontend.onnx.model import Model
from shardc.frontend.onnx.read import Wishes
from shardc.frontend.onnx.read import lowered as read
from shardc.frontend.onnx.write import annotated, decided, proto_of
from shardc.layout.notations.onnx_text import read_spec
from shardc.options import Options

RNG = np.random.default_rng(0)
W1 = RNG.standard_normal((16, 64)).astype(np.float32)
W2 = RNG.standard_normal((64, 16)).astype(np.float32)
MESH = "pod[data=2, model=2]"
SHARDINGS = {"x": "P('data')", "W1": "P(None, 'model')"}


def model(nodes: list[Any], inputs: dict[str, list[Any]], outputs: list[str], **stored: Any) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=11)


def mlp() -> ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "W1"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "W2"], ["y"], name="second"),
    ]
    proto = model(nodes, {"x": ["batch", 16]}, ["y"], W1=W1, W2=W2)
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 16]))
    return proto


def lowering(proto: ModelProto, **wishes: Any):
    return read(Model(proto, "m.onnx"), Wishes(**wishes))


def refused(proto: ModelProto, **wishes: Any) -> str:
    with pytest.raises(ShardcError) as error:
        lowering(proto, **wishes)
    return str(error.value)


def test_weights_are_arguments_and_loaded_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path)
    program = shardc.from_onnx(str(path), dims={"batch": 8}, mesh=MESH, shardings=SHARDINGS, target="numpy")
    weights = program.module.load_weights(str(path))
    assert list(weights) == ["W1", "W2"]
    x = RNG.standard_normal((8, 16)).astype(np.float32)
    wanted = np.maximum(x @ W1, 0) @ W2
    np.testing.assert_allclose(program.main(x, *weights.values()), wanted, rtol=1e-4, atol=1e-4)


def test_external_data_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    program = shardc.from_onnx(str(path), dims={"batch": 2}, target="numpy")
    weights = program.module.load_weights(str(path))
    np.testing.assert_array_equal(weights["W2"], W2)


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/hostname", "link.bin", "a/../../w.bin", "", "none.bin"]
)
def test_external_data_stays_below_the_folder(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(b"\0" * 64)
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    proto = model([helper.make_node("Add", ["x", "b"], ["y"])], {"x": [4]}, ["y"], b=np.ones(4, np.float32))
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    onnx.save(proto, folder / "m.onnx")
    with pytest.raises(ShardcError, match="below the model's folder"):
        shardc.from_onnx(str(folder / "m.onnx"))


def test_sizes_are_checked_before_anything_is_read() -> None:
    proto = model([helper.make_node("Add", ["x", "b"], ["y"])], {"x": [4]}, ["y"], b=np.ones(4, np.float32))
    proto.graph.initializer[0].dims[0] = 8
    assert "16 bytes, and its type f32[8] takes 32" in refused(proto)
    proto.graph.initializer[0].dims[0] = 2**50
    assert "a tensor of shape" in refused(proto)


def test_a_chain_that_would_grow_is_not_computed() -> None:
    nodes = [
        helper.make_node("Constant", [], ["s"], value_ints=[2**30, 2**30]),
        helper.make_node("ConstantOfShape", ["s"], ["y"]),
    ]
    assert "2^48 elements" in refused(model(nodes, {}, ["y"]))


def test_names_become_identifiers(tmp_path: Path) -> None:
    name = 'a"); import os; os.system("x") #\n'
    nodes = [helper.make_node("MatMul", [name, "class"], ["1/y"])]
    proto = model(nodes, {name: [4, 16]}, ["1/y"], **{"class": W1})
    program = shardc.from_onnx(proto)
    assert "import os" not in re.sub(r"json\.loads\(.*?\n\)", "", program.source, flags=re.DOTALL)
    compile(program.source, "m", "exec")


def test_dimensions_without_a_size_are_named() -> None:
    text = refused(mlp())
    assert "the inputs have dimensions without a size: batch" in text
    assert "-D batch=…" in text
    assert "has no dimension bach to set; it has batch" in refused(mlp(), dims={"batch": 2, "bach": 2})


def test_shape_chains_are_folded() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "zeros"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    stored = {"zero": np.array(0), "zeros": np.array([0]), "rest": np.array([2, -1])}
    proto = model(nodes, {"x": ["batch", 4, 6]}, ["y"], **stored)
    assert lowering(proto, dims={"batch": 5}).tensors.types["y"].shape == (5, 2, 12)


def test_shapes_that_depend_on_data_are_told_with_their_chains() -> None:
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("NonZero", ["a"], ["z"]),
        helper.make_node("Cast", ["x"], ["c"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["w", "c"], ["r"]),
    ]
    text = refused(model(nodes, {"x": [2], "w": [6]}, ["z", "r"]))
    assert "z = NonZero: the result's shape depends on the value of a <- x" in text
    assert "r = Reshape: the result's shape depends on the value of c <- x" in text


def test_unsupported_operators_are_counted_with_those_of_bodies() -> None:
    body = helper.make_graph(
        [helper.make_node("StringNormalizer", ["x"], ["b"])],
        "b",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("ImageDecoder", ["x"], ["d"]),
        helper.make_node("ImageDecoder", ["x"], ["e"]),
        helper.make_node("Not", ["d"], ["n"]),
        helper.make_node("If", ["n"], ["y"], then_branch=body, else_branch=body),
    ]
    proto = model(nodes, {"x": [2]}, ["y"])
    proto.opset_import[0].version = 20
    assert "ImageDecoder (2x), StringNormalizer (2x)" in refused(proto)


def test_an_unknown_attribute_is_an_error_at_its_node() -> None:
    text = refused(model([helper.make_node("Relu", ["x"], ["y"], alpha=1.0)], {"x": [2]}, ["y"]))
    assert "m.onnx:2:1: error: Relu has no attribute alpha at opset 14; it has none" in text
    assert "y = Relu(x)" in text


def test_a_function_of_the_model_is_expanded() -> None:
    function = helper.make_function(
        "own",
        "Scaled",
        ["a"],
        ["b"],
        [
            helper.make_node("Constant", [], ["k"]),
            helper.make_node("Mul", ["a", "k"], ["b"]),
        ],
        [helper.make_opsetid("", 18)],
        ["k"],
    )
    attribute = function.node[0].attribute.add(name="value_float", ref_attr_name="k")
    attribute.type = onnx.AttributeProto.FLOAT
    proto = model([helper.make_node("Scaled", ["x"], ["y"], domain="own", k=3.0)], {"x": [2]}, ["y"])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    program = shardc.from_onnx(proto, target="numpy")
    np.testing.assert_array_equal(program.main(np.array([1, 2], np.float32)), [3, 6])


def test_a_function_that_calls_itself_is_refused() -> None:
    node = helper.make_node("Again", ["a"], ["b"], domain="own")
    function = helper.make_function("own", "Again", ["a"], ["b"], [node], [helper.make_opsetid("own", 1)])
    proto = model([helper.make_node("Again", ["x"], ["y"], domain="own")], {"x": [2]}, ["y"])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    assert "calls itself" in refused(proto)


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
    assert "x: [0, 1, 2], [3]" in refused(_stated(x=ODD), dims={"batch": 8})


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
    lines = [str(line) for line in rejected(found)]
    assert any(line.startswith("first: MatMul (rule: matmul): axis 1 of x:") for line in lines)


def test_specs_of_wrong_tensors_and_axes_are_errors() -> None:
    far = "{device: [0, 1] sharded_dim: [{axis: 5 num_shards: 2}]}"
    assert "axis 5 is outside a tensor of 2 dimensions" in refused(_stated(x=far), dims={"batch": 8})
    assert "no tensor of the program is called z" in refused(
        mlp(), dims={"batch": 8}, mesh=MESH, shardings={"z": "P('data')"}
    )
    assert "is no sharding" in refused(mlp(), dims={"batch": 8}, mesh=MESH, shardings={"x": "P('dat')"})


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
