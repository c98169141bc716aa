"""Operators against formulas where no node test says it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import shardc
from tests.onnx_small import MESH, RNG, model, refused
from tests.tolerance import assert_near


def test_older_opsets_are_read_where_nothing_changed() -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [3]}, ["y"])
    proto.opset_import[0].version = 6
    x = np.array([-1, 0, 2], np.float32)
    np.testing.assert_array_equal(shardc.from_onnx(proto, target="numpy").main(x), np.maximum(x, 0))
    proto.opset_import[0].version = 5
    assert "opset 7 changed Relu" in refused(proto)
    for version in (0, 1000):
        proto.opset_import[0].version = version
        assert f"is of opset {version}; shardc reads 7 to" in refused(proto)


def test_deformable_convolution_without_offsets_is_a_convolution() -> None:
    """Sharded along the batch, with groups, strides, dilations and padding."""
    x = RNG.standard_normal((4, 4, 7, 8)).astype(np.float32)
    w = RNG.standard_normal((6, 2, 2, 3)).astype(np.float32)
    shape = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 1, 2], "group": 2}
    plain = shardc.from_onnx(
        model([helper.make_node("Conv", ["x", "w"], ["y"], **shape)], {"x": [*x.shape]}, ["y"], w=w),
        target="numpy",
    )
    wanted = plain.main(x, w)
    offset = np.zeros((4, 2 * 2 * 6, *wanted.shape[2:]), np.float32)
    node = helper.make_node("DeformConv", ["x", "w", "o"], ["y"], offset_group=2, **shape)
    proto = model([node], {"x": [*x.shape], "o": [*offset.shape]}, ["y"], w=w)
    proto.opset_import[0].version = 19
    program = shardc.from_onnx(proto, mesh=MESH, shardings={"x": "P('data')"}, target="numpy")
    assert_near(program.main(x, offset, w), wanted, terms=2 * 2 * 3 + 4)
    proto.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 10
    assert "offsets f32[4, 10" in refused(proto)


def test_rois_in_several_images() -> None:
    x = np.arange(2 * 1 * 4 * 4, dtype=np.float32).reshape(2, 1, 4, 4)
    node = helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], output_height=1, output_width=1)
    node.attribute.append(helper.make_attribute("sampling_ratio", 1))
    rois = np.array([[0.5, 0.5, 2.5, 2.5], [1.5, 1.5, 3.5, 3.5]], np.float32)
    proto = model([node], {"x": [2, 1, 4, 4]}, ["y"], r=rois, b=np.array([1, 0]))
    found = shardc.from_onnx(proto, target="numpy").main(x)
    np.testing.assert_array_equal(found.reshape(-1), [x[1, 0, 1, 1], x[0, 0, 2, 2]])
    del proto.graph.node[0].attribute[2]
    assert "sampling_ratio 0" in refused(proto)


def test_regions_are_pooled_as_onnxruntime_does() -> None:
    """Regions in several images, outside them, inside out, and of halves that are rounded; on devices."""
    onnxruntime = pytest.importorskip("onnxruntime")
    x = RNG.standard_normal((3, 4, 9, 7)).astype(np.float32)
    corners = RNG.uniform(-4, 20, (12, 4)).round(1).astype(np.float32)
    corners[:2] = [1, 1, 3, 5], [5, 4, 1, 1]
    rois = np.concatenate([RNG.integers(0, 3, (12, 1)), corners], 1).astype(np.float32)
    node = helper.make_node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[3, 2], spatial_scale=0.5)
    proto = model([node], {"x": [*x.shape], "r": [*rois.shape]}, ["y"])
    program = shardc.from_onnx(proto, mesh=MESH, shardings={"x": "P(None, 'model')"}, target="numpy")
    proto.ir_version = 9
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(program.main(x, rois), session.run(None, {"x": x, "r": rois})[0])
    proto.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 4
    assert "regions f32[12, 4]" in refused(proto)


def test_an_optimiser_keeps_its_shardings() -> None:
    tensors = {name: RNG.standard_normal((4, 6)).astype(np.float32) for name in ("x", "g", "v", "h")}
    tensors["h"] = abs(tensors["h"])
    domain = "ai.onnx.preview.training"
    node = helper.make_node("Adam", ["r", "t", "x", "g", "v", "h"], ["nx", "nv", "nh"], domain=domain)
    proto = model([node], {name: [4, 6] for name in tensors}, ["nx", "nv", "nh"], r=np.float32(0.1))
    proto.graph.input.append(helper.make_tensor_value_info("t", TensorProto.INT64, []))
    proto.opset_import.append(helper.make_opsetid(domain, 1))
    split = dict.fromkeys(tensors, "P('data', 'model')")
    program = shardc.from_onnx(proto, mesh=MESH, shardings=split, target="numpy")
    x, g, v, h = tensors.values()
    mean, squares = 0.9 * v + 0.1 * g, 0.999 * h + 0.001 * g * g
    rate = 0.1 * np.sqrt(1 - 0.999**3) / (1 - 0.9**3)
    found = program.main(x, g, v, h, np.array(3))
    wanted = x - rate * mean / (np.sqrt(squares) + 1e-6), mean, squares
    for ours, theirs in zip(found, wanted, strict=True):
        assert_near(ours, theirs)


def _counts(**attributes: Any) -> ModelProto:
    given = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1}
    given |= {"ngram_counts": [0, 2], "ngram_indexes": [3, 0, 1], "pool_int64s": [7, 2, 7, 2]}
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **(given | attributes))
    proto = model([node], {}, ["y"])
    proto.graph.input.append(helper.make_tensor_value_info("x", TensorProto.INT64, [5]))
    return proto


@pytest.mark.parametrize(
    ("mode", "wanted"), [("TF", [2, 2, 0, 2]), ("IDF", [1, 2, 0, 4]), ("TFIDF", [2, 4, 0, 8])]
)
def test_counts_of_n_grams(mode: str, wanted: list[int]) -> None:
    """Unigrams 7 and 2 at places 3 and 0, the bigram 7 2 at place 1, one or two apart."""
    program = shardc.from_onnx(_counts(mode=mode, weights=[1.0, 2.0, 3.0, 4.0]), target="numpy")
    np.testing.assert_array_equal(program.main(np.array([7, 2, 7, 3, 2])), wanted)


def test_pools_that_do_not_fit_are_refused() -> None:
    assert "3 n-grams and 2 places" in refused(_counts(ngram_indexes=[0, 1]))
    assert "n-grams of size 2 from 2 to 3 of 3" in refused(_counts(pool_int64s=[7, 2, 7]))
    assert "1 weights for 4 places" in refused(_counts(mode="IDF", weights=[1.0]))
