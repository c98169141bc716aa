"""A .onnx file as the plain data that the checker of ONNX's formalism works on: shapes, nodes, specs.

Weights are not read, but for short lists of integers: a reduction's axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.devices import spec_of_proto
from shardc.frontend.onnx.model import array_of
from shardc.frontend.onnx.schema import attribute_value
from shardc.layout.onnx.model import DeviceConfiguration, Model, Node, NodeConfiguration, Shape

MOST = 64
"""Integers of a list whose values are kept."""

_PLAIN = (
    AttributeProto.INT,
    AttributeProto.FLOAT,
    AttributeProto.STRING,
    AttributeProto.INTS,
    AttributeProto.FLOATS,
    AttributeProto.STRINGS,
)


def plain_model(proto: ModelProto, file: str) -> Model:
    """The model for layout.onnx.check_model. Stored tensors and Constant nodes count as inputs.

    ShardcError for an input without a rank; LayoutError for a configuration that is none.
    """
    stored = {tensor.name: tensor for tensor in proto.graph.initializer}
    nodes: list[Node] = []
    for node in proto.graph.node:
        value = _constant(node)
        if value is None:
            nodes.append(_node(node))
        else:
            stored[node.output[0]] = value
    shapes = {info.name: _shape(info, file) for info in proto.graph.input if info.name not in stored}
    shapes |= {name: tuple(map(int, tensor.dims)) for name, tensor in stored.items()}
    opset = next((int(o.version) for o in proto.opset_import if o.domain in ("", "ai.onnx")), None)
    configurations = tuple(
        DeviceConfiguration(c.name, int(c.num_devices), tuple(c.device)) for c in proto.configuration
    )
    return Model(tuple(nodes), shapes, dict(_lists(stored, file)), configurations, opset)


def _constant(node: NodeProto) -> TensorProto | None:
    """The tensor of a Constant node that has one."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.attribute) != 1:
        return None
    (attribute,) = node.attribute
    if attribute.type == AttributeProto.TENSOR:
        return attribute.t
    if attribute.type == AttributeProto.INTS:
        return helper.make_tensor("", TensorProto.INT64, [len(attribute.ints)], list(attribute.ints))
    return None


def _lists(stored: dict[str, TensorProto], file: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, tensor in stored.items():
        if (
            len(tensor.dims) == 1
            and prod(tensor.dims) <= MOST
            and tensor.data_type in (TensorProto.INT64, TensorProto.INT32)
            and tensor.data_location != TensorProto.EXTERNAL
        ):
            try:
                yield name, tuple(int(item) for item in array_of(tensor, None).tolist())
            except ValueError as error:
                raise ShardcError(f"{file}: stored tensor {name}: {error}") from None


def _shape(info: ValueInfoProto, file: str) -> Shape:
    """Sizes and symbols; a dimension without a symbol is INPUT.AXIS."""
    tensor = info.type.tensor_type
    if info.type.WhichOneof("value") != "tensor_type" or not tensor.HasField("shape"):
        raise ShardcError(f"{file}: input {info.name} is no tensor with a rank")
    return tuple(
        int(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or f"{info.name}.{axis}"
        for axis, dim in enumerate(tensor.shape.dim)
    )


def _node(node: NodeProto) -> Node:
    configurations = tuple(
        NodeConfiguration(
            part.configuration_id,
            tuple(map(spec_of_proto, part.sharding_spec)),
            int(part.pipeline_stage) if part.HasField("pipeline_stage") else None,
        )
        for part in node.device_configurations
    )
    domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}:"
    attributes = {a.name: attribute_value(a) for a in node.attribute if a.type in _PLAIN}
    return Node(
        domain + node.op_type, tuple(node.input), tuple(node.output), attributes, configurations, node.name
    )
