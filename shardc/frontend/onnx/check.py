"""What ONNX's sharding formalism says of the nodes of a model, and of which axis.

At every node the specifications of its inputs are those that the model states there, else the layouts that
the compiler decided. A node is valid; or it is invalid by the rule of its group; or it has a split axis and
an operator that the document leaves out (unsupported) or does not mention (not covered). shardc computes such
nodes all the same, after a change of layout where one is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from onnx import GraphProto, NodeProto

from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.schema import STANDARD, attributes_of, schema_of, subgraphs
from shardc.frontend.onnx.write import decided
from shardc.layout import LayoutError
from shardc.layout.notations.onnx import spec_of
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.layout.onnx.contract import Tensor
from shardc.layout.onnx.operations import OPERATIONS, infer
from shardc.layout.onnx.verdicts import verdict_of

INVALID = "invalid"

MOST = 64
"""Integers of a list whose values a rule sees."""

Inputs = list[tuple[str, Tensor | None]]
"""A node's inputs by name; None for what is left out, or has no layout."""


class Rejected(Struct, frozen=True):
    """An axis of a node's input that the formalism does not accept; none where no one axis is at fault.

    `verdict` is invalid, unsupported, or not covered by the document; `rule` the group of an operator that
    the document has.
    """

    node: str
    op: str
    rule: str
    verdict: str
    reason: str
    tensor: str | None = None
    axis: int | None = None

    def __str__(self) -> str:
        rule = f" (rule: {self.rule})" if self.rule else ""
        what = f"axis {self.axis} of {self.tensor}: " if self.tensor is not None else ""
        return f"{self.node}: {self.op}{rule}: {what}{self.verdict}: {self.reason}"


def findings(lowering: Lowering) -> list[Rejected]:
    """All that is not valid, in the order of the nodes."""
    layouts = decided(lowering)
    specs: dict[str, ShardingSpec] = {}
    for name, (_, sharding) in layouts.items():
        try:
            specs[name] = spec_of(sharding)
        except LayoutError:
            continue
    found: list[Rejected] = []
    for node in _nodes(lowering.model.proto.graph):
        if not any(name in layouts for name in node.output) or {*node.input} - {"", *layouts}:
            continue  # of a branch that is not taken
        tensors: Inputs = []
        for name in node.input:
            if name not in layouts:
                tensors.append((name, None))
                continue
            stated = lowering.tensors.specs.used.get((id(node), name), specs.get(name))
            tensors.append((name, Tensor(layouts[name][0].shape, stated, _numbers(lowering, name))))
        if node.domain not in STANDARD or node.op_type not in OPERATIONS:
            found += _left_out(node, tensors)
        else:
            schema = schema_of(node, lowering.opsets)
            found += _of_node(node, tensors, attributes_of(node, schema) if schema else {})
    return found


def _numbers(lowering: Lowering, name: str) -> tuple[int, ...] | None:
    """What a short list of integers is known to be, such as a reduction's axes."""
    array = lowering.tensors.arrays.get(name)
    if array is None or array.ndim != 1 or array.size > MOST or array.dtype.kind not in "iu":
        return None
    return tuple(int(item) for item in array)


def _left_out(node: NodeProto, tensors: Inputs) -> Iterator[Rejected]:
    """The split axes of a node whose operator has no rule."""
    name = f"{node.domain}:{node.op_type}" if node.domain not in STANDARD else node.op_type
    try:
        infer(name, [])
    except LayoutError as error:
        yield from (
            Rejected(node_name(node), name, "", verdict_of(error), str(error), tensor, axis)
            for tensor, axis in _split(tensors)
        )


def _split(tensors: Inputs) -> Iterator[tuple[str, int]]:
    """The split axes of tensors, each once."""
    return ((name, axis) for name, tensor in dict(tensors).items() if tensor for axis in tensor.split)


def node_name(node: NodeProto) -> str:
    """Its own, else those of its outputs."""
    return node.name or ", ".join(node.output)


def _of_node(node: NodeProto, tensors: Inputs, attributes: Mapping[str, Any]) -> Iterator[Rejected]:
    try:
        infer(node.op_type, [tensor for _, tensor in tensors], attributes)
        return
    except LayoutError as error:
        verdict, reason = verdict_of(error), str(error).removeprefix(f"{node.op_type}: ")
    rule = group_of(node.op_type)
    if verdict != INVALID:
        for name, axis in _split(tensors):
            yield Rejected(node_name(node), node.op_type, rule, verdict, reason, name, axis)
        return
    guilty = [
        (name, axis)
        for index, (name, tensor) in enumerate(tensors)
        for axis in (tensor.split if tensor else ())
        if _valid(node, tensors, index, axis, attributes)
    ]
    for name, axis in guilty or [(None, None)]:
        yield Rejected(node_name(node), node.op_type, rule, verdict, reason, name, axis)


def _valid(node: NodeProto, tensors: Inputs, index: int, axis: int, attributes: Mapping[str, Any]) -> bool:
    """Whether the node's inputs go together once this axis is whole."""
    changed = [
        without(tensor, axis) if number == index and tensor else tensor
        for number, (_, tensor) in enumerate(tensors)
    ]
    try:
        infer(node.op_type, changed, attributes)
    except LayoutError:
        return False
    return True


def without(tensor: Tensor, axis: int) -> Tensor:
    """The tensor with an axis whole on every device that held a part of it."""
    from itertools import product

    from shardc.layout.notations.onnx_spec import spec_of_holders

    spec = tensor.spec
    if spec is None:
        return tensor
    axes = spec.axes(tensor.rank)
    kept = [i for i, a in enumerate(axes) if a != axis]
    counts = [dim.num_shards for dim in spec.sharded_dim]
    holders: dict[tuple[int, ...], set[int]] = {}
    for index, group in zip(product(*map(range, counts)), spec.holders(), strict=True):
        holders.setdefault(tuple(index[i] for i in kept), set()).update(group)
    dims = [spec.sharded_dim[i] for i in kept]
    return replace(tensor, spec=spec_of_holders(dims, [tuple(sorted(group)) for group in holders.values()]))


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for body in subgraphs(node):
            yield from _nodes(body)


def group_of(name: str) -> str:
    """The group of the formalism that an operator of it is in."""
    text = getattr(OPERATIONS[name], "__name__", "")
    return {"combined": _COMBINED.get(name, "reduction")}.get(text, text.replace("_", " "))


_COMBINED = {
    "MatMul": "matmul",
    "Gemm": "matmul",
    "MatMulInteger": "matmul",
    "QLinearMatMul": "matmul",
    "Einsum": "einsum",
}
