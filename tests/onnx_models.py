"""Whole models against onnxruntime: on four devices, split along the batch, the channels or the width."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from shardc.compilation import lower
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.model import Model, array_of
from shardc.frontend.onnx.read import Wishes, lowered
from shardc.graph import Graph
from shardc.interpret.run import run
from shardc.interpret.tolerance import bounds
from shardc.options import Options

MESH = "four[d=4]"
SPLITS = ("batch", "channel", "width")


@dataclass(frozen=True)
class Trial:
    """A model with inputs by name; `values` are inputs that its shapes depend on, `dims` sizes of symbols."""

    proto: ModelProto
    inputs: Mapping[str, np.ndarray]
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    values: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])


def shardings(trial: Trial, split: str) -> dict[str, str]:
    """The first input split along its first or last axis, or all weights of Conv along their channels."""
    name, array = next(iter(trial.inputs.items()))
    whole = [None] * array.ndim
    if split == "batch":
        return {name: spec(["d", *whole[1:]])}
    if split == "width":
        return {name: spec([*whole[1:], "d"])}
    shapes = stored_shapes(trial.proto)
    convolutions = [node for node in trial.proto.graph.node if node.op_type == "Conv"]
    weights = {node.input[1] for node in convolutions if shapes.get(node.input[1], (1,))[0] % 4 == 0}
    return {weight: spec(["d", *[None] * (len(shapes[weight]) - 1)]) for weight in sorted(weights)}


def spec(axes: Sequence[str | None]) -> str:
    """A PartitionSpec as text."""
    return f"P({', '.join(map(repr, axes))})"


def stored_shapes(proto: ModelProto) -> dict[str, tuple[int, ...]]:
    """The shapes of initializers and of tensors that Constant nodes make."""
    tensors = {tensor.name: tensor for tensor in proto.graph.initializer}
    for node in proto.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensors[node.output[0]] = node.attribute[0].t
    return {name: tuple(tensor.dims) for name, tensor in tensors.items()}


def assert_right(trial: Trial, split: str) -> None:
    """Each result is as near to onnxruntime's as two ways to compute the sums on the way to it."""
    for number, (error, limit) in enumerate(zip(errors(trial, split), limits(trial, split), strict=True)):
        assert error <= limit, f"result {number}: off by {error:.1e}, {limit:.1e} is allowed"


def limits(trial: Trial, split: str | None) -> list[float]:
    """How far two ways to compute the sums on the way to each result may be apart."""
    return [2 * limit for limit in bounds(_lowered(trial, split)[1])]


def errors(trial: Trial, split: str | None) -> list[float]:
    """How far each result is from onnxruntime's, of its largest element."""
    lowering, graph = _lowered(trial, split)
    weights = [array_of(tensor, None) for tensor in lowering.weights.values()]
    given = [array for name, array in trial.inputs.items() if name not in trial.values]
    results = run(graph, [*given, *weights])
    return [
        float(np.abs(np.subtract(ours, theirs, dtype=np.float64)).max() / np.abs(theirs).max())
        for ours, theirs in zip(results, theirs_of(trial), strict=True)
    ]


def _lowered(trial: Trial, split: str | None) -> tuple[Lowering, Graph]:
    wishes = Wishes(
        mesh=MESH if split else None,
        shardings=shardings(trial, split) if split else {},
        dims=trial.dims,
        values=trial.values,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lowering = lowered(Model(trial.proto, "model"), wishes)
        return lowering, lower(lowering.module, Options())


def theirs_of(trial: Trial) -> list[Any]:
    """What onnxruntime computes."""
    import onnxruntime

    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        trial.proto.SerializeToString(), quiet, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, {**trial.inputs, **trial.values}))


def with_weights(proto: ModelProto, batch: int) -> ModelProto:
    """A light model, whose weights are all equal, with random ones and another batch size.

    The sizes are what ConstantOfShape makes; a Reshape to a batch of one gets the other size.
    """
    rng = np.random.default_rng(0)
    model = ModelProto()
    model.CopyFrom(proto)
    graph = model.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    made: dict[str, np.ndarray] = {}
    kept: list[NodeProto] = []
    for node in proto.graph.node:
        if node.op_type == "ConstantOfShape":
            shape = tuple(numpy_helper.to_array(stored[node.input[0]]).tolist())
            made[node.output[0]] = _weight(rng, shape)
            continue
        kept.append(node)
        if node.op_type == "Reshape" and node.input[0] not in made:
            tensor = stored[node.input[1]]
            _, *rest = numpy_helper.to_array(tensor).tolist()
            tensor.CopyFrom(numpy_helper.from_array(np.array([batch, *rest]), tensor.name))
    del graph.node[:]
    graph.node.extend(kept)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in made.items())
    inputs = [info for info in graph.input if info.name not in stored]
    for info in (*inputs, *graph.output):
        info.type.tensor_type.shape.dim[0].dim_value = batch
    return model


def _weight(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Weights that keep the size of what goes through; vectors lie between a half and one and a half."""
    if len(shape) < 2:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
