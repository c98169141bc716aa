"""Small models made here, and what reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.model import Model
from shardc.frontend.onnx.read import Wishes
from shardc.frontend.onnx.read import lowered as read

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


def lowering(proto: ModelProto, **wishes: Any) -> Lowering:
    return read(Model(proto, "m.onnx"), Wishes(**wishes))


def refused(proto: ModelProto, **wishes: Any) -> str:
    with pytest.raises(ShardcError) as error:
        lowering(proto, **wishes)
    return str(error.value)
