"""Models that nobody should trust: sizes, places of external data, names, depths."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import shardc
from shardc.diagnostics import ShardcError, collecting
from tests.onnx_small import W1, lowering, mlp, model, refused


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


def test_external_data_that_are_missing_are_an_error(tmp_path: Path) -> None:
    """Also of a tensor that is an argument, whose elements nobody reads while compiling."""
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    shardc.from_onnx(str(path), dims={"batch": 8})
    (tmp_path / "w.bin").write_bytes(b"\0" * 64)
    with pytest.raises(ShardcError, match=r"stored tensor W1: external data w\.bin ends before byte 4096"):
        shardc.from_onnx(str(path), dims={"batch": 8})
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ShardcError, match="stored tensor W1: external data at 'w"):
        shardc.from_onnx(str(path), dims={"batch": 8})


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
    tree = ast.parse(program.source)
    imported = {item.name for n in ast.walk(tree) if isinstance(n, ast.Import) for item in n.names}
    assert "os" not in imported
    assert [kept for kept, *_ in program.module.WEIGHTS.values()] == ["class"]
    compile(program.source, "m", "exec")


def test_a_function_that_calls_itself_is_refused() -> None:
    node = helper.make_node("Again", ["a"], ["b"], domain="own")
    function = helper.make_function("own", "Again", ["a"], ["b"], [node], [helper.make_opsetid("own", 1)])
    proto = model([helper.make_node("Again", ["x"], ["y"], domain="own")], {"x": [2]}, ["y"])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    assert "calls itself" in refused(proto)


NODES: list[tuple[str, str, list[Any], dict[str, Any]]] = [
    ("they do not fit", "SpaceToDepth", [[2, 3, 4]], {"blocksize": 2}),
    ("with strides", "ConvTranspose", [[1, 2, 3, 3], [2, 2, 3, 3]], {"strides": [1, 2, 3]}),
    (
        "kernel_shape [9] for a kernel f32[4, 3, 2]",
        "Conv",
        [[1, 3, 5], [4, 3, 2]],
        {"kernel_shape": [9]},
    ),
    (
        "kernel_shape [2] for a kernel f32[3, 4, 2, 1]",
        "ConvTranspose",
        [[1, 3, 5, 5], [3, 4, 2, 1]],
        {"kernel_shape": [2]},
    ),
    ("kernel_shape [2] for f32[1, 2, 0, 3]", "AveragePool", [[1, 2, 0, 3]], {"kernel_shape": [2]}),
    ("2 batch dimensions", "GatherND", [[2, 3], [2, 1]], {"batch_dims": 2}),
    ("1099511627776 batch dimensions", "GatherND", [[2, 3], [2, 1]], {"batch_dims": 2**40}),
    (
        "over dimension 2 of [1, 1, 2199023255552] by more than 2^31 elements",
        "MaxPool",
        [[1, 1, 2**41]],
        {"kernel_shape": [2**40]},
    ),
    ("Split with 1099511627776 parts", "Split", [[4]], {"num_outputs": 2**40}),
]


@pytest.mark.parametrize(("text", "op", "shapes", "attributes"), NODES)
def test_nodes_that_do_not_fit_are_errors(text: str, op: str, shapes: Any, attributes: Any) -> None:
    """No exception of Python's, and no list as long as an attribute says."""
    outputs = ["y", "places"] if op == "MaxPool" else ["y"]
    inputs = {f"x{i}": shape for i, shape in enumerate(shapes)}
    proto = model([helper.make_node(op, [*inputs], outputs, **attributes)], inputs, ["y"])
    if op == "GatherND":
        proto.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    assert text in refused(proto)


def test_windows_over_many_places_are_not_listed() -> None:
    """Without padding all windows have as many elements, however many there are."""
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2])
    proto = model([node], {"x": [1, 1, 2**40]}, ["y"])
    assert lowering(proto).tensors.types["y"].shape == (1, 1, 2**40 - 1)
    proto.graph.node[0].attribute.append(helper.make_attribute("pads", [1, 1]))
    assert f"AveragePool with {2**40 + 1} places" in refused(proto)


def test_files_that_are_cut_or_garbled_are_errors(tmp_path: Path) -> None:
    """Every prefix, and names that are no UTF-8, which protobuf gives as bytes."""
    path, data = tmp_path / "m.onnx", mlp().SerializeToString()
    short = data[: data.index(b"W1")] + data[-60:]
    for cut in range(0, len(short), 7):
        path.write_bytes(short[:cut])
        with pytest.raises(ShardcError):
            shardc.from_onnx(str(path), dims={"batch": 8})
    for name in (b"MatMul", b"first", b"batch", b"x"):
        path.write_bytes(data.replace(name, b"\xff" * len(name)))
        with pytest.raises(ShardcError, match=r"no UTF-8|cannot be decoded"):
            shardc.from_onnx(str(path), dims={"batch": 8})


def test_graphs_that_are_none() -> None:
    """A cycle, a tensor that nothing makes, one that is made twice."""
    relu, neg = (helper.make_node(op, [a], [b]) for op, a, b in (("Relu", "b", "a"), ("Neg", "a", "b")))
    assert "Relu reads b, which nothing made before" in refused(model([relu, neg], {"x": [2]}, ["a"]))
    assert "Neg reads a, which nothing made before" in refused(model([neg], {"x": [2]}, ["b"]))
    assert "nothing makes output z" in refused(model([], {"x": [2]}, ["z"]))
    assert "b is made more than once" in refused(model([neg, neg], {"a": [2]}, ["b"]))
    assert "a is made more than once" in refused(model([relu], {"b": [2], "a": [2]}, ["a"]))
    twice = model([neg], {"x": [2]}, ["b"], a=np.ones(2, np.float32))
    twice.graph.initializer.append(twice.graph.initializer[0])
    assert "a is made more than once" in refused(twice)
    twice = model([neg], {"a": [2]}, ["b"])
    twice.graph.input.append(twice.graph.input[0])
    assert "a is made more than once" in refused(twice)


def test_outputs_are_of_the_type_that_is_declared() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="last")
    proto = model([node], {"x": [2, "n"]}, ["y"])

    def declare(dtype: int, *shape: int | str) -> None:
        proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", dtype, shape))

    for shape, said in (((2, 4), "f32[2, 4]"), (("n", 3), "f32[3, 3]"), ((6,), "f32[6]")):
        declare(TensorProto.FLOAT, *shape)
        with collecting() as warnings:
            lowering(proto, dims={"n": 3})
        assert [w.message for w in warnings] == [
            f"output y is declared as {said}, and Relu last makes f32[2, 3]"
        ]
    declare(TensorProto.DOUBLE, 2, "n")
    wrong = "m.onnx:2:1: error: output y is declared as f64[2, 3], and Relu last makes f32[2, 3]"
    assert wrong in refused(proto, dims={"n": 3})
    declare(TensorProto.FLOAT, 2, "m")
    with collecting() as warnings:
        lowering(proto, dims={"n": 3})
    assert not warnings


def test_a_model_without_outputs() -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    assert "the model has no outputs" in refused(model([node], {"x": [2]}, []))


def test_inputs_of_two_dtypes() -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    wrong = model([node], {"x": [2, 2]}, ["y"], w=np.ones((2, 2), np.int32))
    assert "MatMul takes x and w of one dtype: they are f32 and i32" in refused(wrong)
    clip = helper.make_node("Clip", ["x", "", "w"], ["y"])
    assert "Clip takes x and w of one dtype" in refused(
        model([clip], {"x": [2]}, ["y"], w=np.ones((), np.float64))
    )
    shardc.from_onnx(model([clip], {"x": [2]}, ["y"], w=np.ones((), np.float32)))
    gather = helper.make_node("Gather", ["x", "w"], ["y"])
    shardc.from_onnx(model([gather], {"x": [2]}, ["y"], w=np.ones(1, np.int64)))


def test_an_operator_that_is_misspelt() -> None:
    said = refused(model([helper.make_node("MatMull", ["x", "x"], ["y"])], {"x": [2, 2]}, ["y"]))
    assert "operators that are not supported: MatMull (1x)" in said and "did you mean MatMul?" in said


def nested(op: str, depth: int) -> ModelProto:
    """Bodies within bodies: If with a condition that depends on data, or Loop that stacks."""
    nodes, out = [helper.make_node("Relu", ["x"], ["o0"])], "o0"
    for d in range(1, depth + 1):
        result = helper.make_tensor_value_info(out, TensorProto.FLOAT, None)
        if op == "If":
            body = helper.make_graph(nodes, "then", [], [result])
            other = helper.make_graph([helper.make_node("Neg", ["x"], [f"n{d}"])], "else", [], [])
            other.output.append(helper.make_tensor_value_info(f"n{d}", TensorProto.FLOAT, None))
            nodes = [helper.make_node("If", ["c"], [f"o{d}"], then_branch=body, else_branch=other)]
        else:
            turn = [(f"i{d}", TensorProto.INT64), (f"k{d}", TensorProto.BOOL)]
            inputs = [helper.make_tensor_value_info(name, kind, []) for name, kind in turn]
            same = helper.make_node("Identity", [f"k{d}"], [f"q{d}"])
            total = helper.make_node("ReduceSum", [out], [f"r{d}"], keepdims=0)
            body = helper.make_graph([*nodes, same, total], "turn", inputs, [])
            body.output.append(helper.make_tensor_value_info(f"q{d}", TensorProto.BOOL, None))
            body.output.append(helper.make_tensor_value_info(f"r{d}", TensorProto.FLOAT, None))
            nodes = [helper.make_node("Loop", ["m", ""], [f"o{d}"], body=body)]
        out = f"o{d}"
    proto = model(nodes, {"x": [4]}, [out], m=np.array(1))
    proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    return proto


@pytest.mark.parametrize("op", ["If", "Loop"])
def test_a_body_is_built_once_at_every_depth(op: str) -> None:
    """Twice per body would be 65,536 bodies here."""
    sizes = [sum(1 for _ in lowering(nested(op, depth)).module.walk()) for depth in (4, 8, 16)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    program = shardc.from_onnx(nested(op, 16), target="numpy")
    x, c = np.array([1, -2, 3, -4], np.float32), np.array(True)
    results = [np.maximum(x, 0), np.array([4], np.float32)]
    np.testing.assert_array_equal(program.main(x, c), results[op == "Loop"])


@pytest.mark.parametrize("op", ["If", "Loop"])
def test_bodies_that_are_too_deep_are_refused(op: str) -> None:
    assert "bodies lie in each other more than 16 deep" in refused(nested(op, 17))


def _calls(functions: int, calls: int) -> ModelProto:
    """Functions, each of which calls the next so many times."""
    proto = model([helper.make_node("f0", ["x"], ["y"], domain="own")], {"x": [2]}, ["y"])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    proto.opset_import.append(opsets[1])
    for i in range(functions):
        name, domain = (f"f{i + 1}", "own") if i < functions - 1 else ("Relu", "")
        nodes = [helper.make_node(name, ["a"], [f"b{c}"], domain=domain) for c in range(calls)]
        proto.functions.append(helper.make_function("own", f"f{i}", ["a"], ["b0"], nodes, opsets))
    return proto


def test_functions_that_call_each_other_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "functions call each other more than 16 deep" in refused(_calls(40, 1))
    monkeypatch.setattr("shardc.frontend.onnx.lowering.MOST_NODES", 500)
    assert "the model comes to more than 500 nodes" in refused(_calls(12, 4))
