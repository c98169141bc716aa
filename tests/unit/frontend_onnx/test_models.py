"""Shapes, operators and functions of models made here, and the errors about them."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

import shardc
from tests.onnx_small import lowering, mlp, model, refused


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
