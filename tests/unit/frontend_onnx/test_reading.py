"""What a model's program looks like: names, tables, constant places; and numbers given with -D."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

import shardc
from shardc.frontend.onnx.names import Names, shortened
from tests.onnx_small import model, refused


def test_paths_are_cut_to_what_tells_them_apart() -> None:
    paths = ["/encoder/0/mlp/Add_output_0", "/encoder/1/mlp/Add_output_0", "/head/Conv_1_output_0", "plain"]
    assert shortened(paths) == {
        "/encoder/0/mlp/Add_output_0": "encoder/0/mlp/Add",
        "/encoder/1/mlp/Add_output_0": "encoder/1/mlp/Add",
        "/head/Conv_1_output_0": "head/Conv_1",
    }
    assert shortened(["a/b/dense/MatMul:0", "a/c/dense/MatMul:0"]) == {
        "a/b/dense/MatMul:0": "b/dense/MatMul",
        "a/c/dense/MatMul:0": "c/dense/MatMul",
    }
    names = Names()
    names.among(["/a/b/c/d", "/x/b/c/d"])
    assert [names.fresh(name) for name in ("/a/b/c/d", "/x/b/c/d", "/a/b/c/d")] == [
        "a_b_c_d",
        "x_b_c_d",
        "a_b_c_d_2",
    ]


def test_a_mask_is_operations_and_no_table() -> None:
    nodes = [
        helper.make_node("ConstantOfShape", ["sides"], ["ones"], value=helper.make_tensor("", 1, [1], [1.0])),
        helper.make_node("Trilu", ["ones"], ["mask"], upper=0),
        helper.make_node("Mul", ["x", "mask"], ["y"]),
    ]
    proto = model(nodes, {"x": [300, 300]}, ["y"], sides=np.array([300, 300]))
    program = shardc.from_onnx(proto, target="numpy")
    assert "base64" not in program.source and "np.arange(300" in program.source
    x = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
    np.testing.assert_array_equal(program.main(x), np.tril(x))


@pytest.mark.parametrize(
    ("places", "text"),
    [(1, "x[1"), (-1, "x[2"), ([0, 2], "x[::2]"), ([-2, -1], "x[1:]"), ([2, 0], "take"), ([], "")],
)
def test_constant_places_are_slices(places: int | list[int], text: str) -> None:
    given = np.array(places, np.int64)
    proto = model([helper.make_node("Gather", ["x", "i"], ["y"])], {"x": [3, 20]}, ["y"], i=given)
    program = shardc.from_onnx(proto, target="numpy")
    x = np.random.default_rng(0).standard_normal((3, 20)).astype(np.float32)
    np.testing.assert_array_equal(program.main(x), x[given])
    assert text in program.source


def test_constant_places_outside_the_tensor_are_an_error() -> None:
    proto = model([helper.make_node("Gather", ["x", "i"], ["y"])], {"x": [3, 20]}, ["y"], i=np.array([0, 3]))
    assert "place 3 of 3" in refused(proto)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(2, 1), (0, 4), (4, 0), (5, 5), (7, 0), (-1, 2)])
def test_pads_are_slices_where_they_fit(mode: str, pads: tuple[int, int]) -> None:
    node = helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)
    proto = model([node], {"x": [3, 5]}, ["y"], pads=np.array([0, pads[0], 0, pads[1]]))
    proto.opset_import[0].version = 19
    program = shardc.from_onnx(proto, target="numpy")
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    cut = x[:, max(0, -pads[0]) :]
    wanted = np.pad(cut, ((0, 0), (max(0, pads[0]), pads[1])), mode=mode)  # pyright: ignore
    np.testing.assert_array_equal(program.main(x), wanted)


def _rates() -> ModelProto:
    """Like silero's: an If on a rate, one branch of which fits 8 samples only, the other 4 only."""

    def branch(name: str, size: int) -> GraphProto:
        nodes = [
            helper.make_node("Constant", [], [f"{name}_shape"], value_ints=[2, size // 2]),
            helper.make_node("Reshape", ["x", f"{name}_shape"], [f"{name}_out"]),
            helper.make_node("MatMul", [f"{name}_out", f"{name}_out"], [f"{name}_y"]),
        ]
        return helper.make_graph(
            nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)]
        )

    bodies: dict[str, Any] = {"then_branch": branch("high", 8), "else_branch": branch("low", 4)}
    nodes = [
        helper.make_node("Equal", ["rate", "high"], ["is_high"]),
        helper.make_node("If", ["is_high"], ["y"], **bodies),
    ]
    proto = model(nodes, {"x": ["samples"]}, ["y"], high=np.array(16000))
    proto.graph.input.append(helper.make_tensor_value_info("rate", TensorProto.INT64, []))
    return proto


def test_a_number_given_with_the_sizes_chooses_the_branch() -> None:
    x = np.array([1, 2, 3, 4], np.float32)
    program = shardc.from_onnx(_rates(), dims={"samples": 4, "rate": 8000}, target="numpy")
    np.testing.assert_array_equal(program.main(x), x.reshape(2, 2) @ x.reshape(2, 2))


def test_a_branch_that_does_not_fit_gives_nan_and_a_warning() -> None:
    x = np.array([1, 2, 3, 4], np.float32)
    program = shardc.from_onnx(_rates(), dims={"samples": 4}, target="numpy")
    assert "the then_branch of If does not fit at these sizes" in str(program.warnings[0])
    np.testing.assert_array_equal(program.main(x, np.array(8000)), x.reshape(2, 2) @ x.reshape(2, 2))
    assert np.isnan(program.main(x, np.array(16000))).all()


def test_a_branch_of_integers_that_does_not_fit_is_an_error() -> None:
    proto = _rates()
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32
    text = refused(proto, dims={"samples": 4})
    assert "y = If: then_branch does not fit" in text and "is_high <- rate" in text
    assert "what is given while compiling settles it: -D rate=…" in text


def test_branches_may_differ_in_dimensions_of_one() -> None:
    """As Paddle's exporter writes them: both state [], one gives [1]."""

    def branch(name: str, array: np.ndarray) -> GraphProto:
        node = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, [])
        return helper.make_graph([node], "b", [], [out])

    bodies: dict[str, Any] = {
        "then_branch": branch("t", np.array([2], np.float32)),
        "else_branch": branch("e", np.array(3, np.float32)),
    }
    nodes = [helper.make_node("If", ["c"], ["k"], **bodies), helper.make_node("Mul", ["x", "k"], ["y"])]
    proto = model(nodes, {"x": [2]}, ["y"])
    proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    program = shardc.from_onnx(proto, target="numpy")
    for condition, factor in ((True, 2), (False, 3)):
        np.testing.assert_array_equal(program.main(np.ones(2, np.float32), np.array(condition)), [factor] * 2)


def test_branches_may_call_their_constants_the_same(tmp_path: Path) -> None:
    weights = [np.full(20, number, np.float32) + np.arange(20, dtype=np.float32) for number in (1, 2)]

    def branch(array: np.ndarray) -> GraphProto:
        nodes = [
            helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(array)),
            helper.make_node("Mul", ["x", "w"], ["o"]),
        ]
        out = helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
        return helper.make_graph(nodes, "b", [], [out])

    bodies: dict[str, Any] = {"then_branch": branch(weights[0]), "else_branch": branch(weights[1])}
    proto = model([helper.make_node("If", ["c"], ["y"], **bodies)], {"x": [20]}, ["y"])
    proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    onnx.save(proto, tmp_path / "m.onnx")
    program = shardc.from_onnx(str(tmp_path / "m.onnx"), target="numpy")
    loaded = program.module.load_weights(tmp_path / "m.onnx").values()
    x = np.ones(20, np.float32)
    for condition, weight in zip((True, False), weights, strict=True):
        np.testing.assert_array_equal(program.main(x, np.array(condition), *loaded), weight)


def test_a_number_that_the_input_cannot_have_is_an_error() -> None:
    assert "input rate is of int64, which has no" in refused(_rates(), dims={"samples": 4, "rate": 2**64})
