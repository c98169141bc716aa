"""What emitted files call the stored tensors of a model: by name, and by number where a name is used again.

Branches of an If may use the same name for different tensors; the second is NAME', the third NAME''.
`_tensors` in the text of loader.py goes through a model in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, TensorProto


class Keys:
    """The tensors of a model by name; that of a function's tensor begins with the function's."""

    def __init__(self, proto: ModelProto) -> None:
        self._found: dict[str, list[tuple[str, TensorProto]]] = {}
        parts = [("", proto.graph), *((f"{f.domain}:{f.name}/", f) for f in proto.functions)]
        keys: set[str] = set()
        for name, tensor in ((prefix + n, t) for prefix, part in parts for n, t in _tensors(part)):
            key = name
            while key in keys:
                key += "'"
            keys.add(key)
            self._found.setdefault(name, []).append((key, tensor))

    def of(self, tensor: TensorProto) -> str:
        """The key of a tensor, which may be a copy that only its name tells from the one in the model."""
        same = self._found.get(tensor.name, [])
        keys = (key for key, other in same if len(same) == 1 or _equal(tensor, other))
        return next(keys, tensor.name)


def _equal(one: TensorProto, other: TensorProto) -> bool:
    """Whether all but the names are equal."""
    if one.dims != other.dims or prod(one.dims) == 0:
        return one.dims == other.dims
    copy = TensorProto()
    copy.CopyFrom(other)
    copy.name = one.name
    return copy == one


def _tensors(graph: GraphProto | FunctionProto) -> Iterator[tuple[str, TensorProto]]:
    for tensor in graph.initializer if isinstance(graph, GraphProto) else ():
        yield tensor.name, tensor
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _tensors(attribute.g)
            elif attribute.type == AttributeProto.TENSOR and node.op_type == "Constant":
                yield node.output[0], attribute.t
