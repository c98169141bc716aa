"""Operators that are defined by others: functions of the model, and those that ONNX gives a body.

A body is lowered in place of its node, with the node's values and attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TypeProto, defs, helper

from shardc.frontend.onnx.dtypes import NUMBERS
from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.schema import has_body, schema_of, subgraphs
from shardc.frontend.onnx.table import OPERATORS
from shardc.frontend.onnx.values import Value


class _Bodies(Protocol):
    """What the type stubs of onnx leave out of OpSchema."""

    function_opset_versions: Sequence[int]
    context_dependent_function_opset_versions: Sequence[int]

    def get_function_with_opset_version(self, version: int, /) -> bytes: ...

    def get_context_dependent_function_with_opset_version(
        self, version: int, node: bytes, types: Sequence[bytes], /
    ) -> bytes: ...


class Functions:
    """The functions of a model by domain and name."""

    def __init__(self, model: ModelProto) -> None:
        self._own = {(f.domain, f.name): f for f in model.functions}

    def own(self, node: NodeProto) -> FunctionProto | None:
        """The function of the model that a node calls."""
        return self._own.get((node.domain, node.op_type))

    def has(self, node: NodeProto, schema: defs.OpSchema | None) -> bool:
        """Whether a node has a body of the model or of ONNX."""
        return self.own(node) is not None or (schema is not None and has_body(schema))

    def missing(self, node: NodeProto, opsets: Mapping[str, int]) -> Iterator[str]:
        """The operators in a node's bodies that have neither a lowering nor a body."""
        for body in subgraphs(node):
            for inner in body.node:
                name = f"{inner.domain}:{inner.op_type}" if inner.domain else inner.op_type
                if name not in OPERATORS and not self.has(inner, schema_of(inner, opsets)):
                    yield name
                yield from self.missing(inner, opsets)

    def body(
        self,
        node: NodeProto,
        schema: defs.OpSchema | None,
        opset: int,
        inputs: Sequence[Value | None],
    ) -> FunctionProto | None:
        """The function to lower in place of a node; None if there is none."""
        own = self.own(node)
        if own is not None or schema is None or not has_body(schema):
            return own
        bodies = cast(_Bodies, schema)
        fixed = [v for v in bodies.function_opset_versions if v <= opset]
        if fixed:
            return FunctionProto.FromString(bodies.get_function_with_opset_version(max(fixed)))
        versions = [v for v in bodies.context_dependent_function_opset_versions if v <= opset]
        if not versions:
            return None
        types = [_type(value) for value in inputs]
        text = bodies.get_context_dependent_function_with_opset_version(
            max(versions), node.SerializeToString(), types
        )
        return FunctionProto.FromString(text) if text else None


def _type(value: Value | None) -> bytes:
    if value is None:
        return TypeProto().SerializeToString()
    return helper.make_tensor_type_proto(NUMBERS[value.type.dtype], value.type.shape).SerializeToString()


def opsets_of(function: FunctionProto, outer: Mapping[str, int]) -> dict[str, int]:
    """Those of a function's nodes: its own, else the model's."""
    own = {("" if o.domain == "ai.onnx" else o.domain): int(o.version) for o in function.opset_import}
    return {**outer, **own}


def nodes_of(function: FunctionProto, call: NodeProto, schema: defs.OpSchema | None) -> list[NodeProto]:
    """The nodes of a function with the attributes of the call in the place of references to them."""
    given = {attribute.name: attribute for attribute in call.attribute}
    for attribute in function.attribute_proto:
        given.setdefault(attribute.name, attribute)
    for name, known in schema.attributes.items() if schema else ():
        if known.default_value.type != AttributeProto.UNDEFINED:
            given.setdefault(name, known.default_value)
    known_names = {*function.attribute, *(a.name for a in function.attribute_proto)}
    if schema is None and (unknown := [a.name for a in call.attribute if a.name not in known_names]):
        raise Invalid(f"function {function.name} has no attribute {unknown[0]}")
    return [_bound(node, given) for node in function.node]


def _bound(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name and attribute.ref_attr_name not in given:
            continue
        new = copy.attribute.add()
        new.CopyFrom(given[attribute.ref_attr_name] if attribute.ref_attr_name else attribute)
        new.name = attribute.name
        new.ref_attr_name = ""
        for graph in [new.g] if new.type == AttributeProto.GRAPH else list(new.graphs):
            inner = [_bound(one, given) for one in graph.node]
            del graph.node[:]
            graph.node.extend(inner)
    return copy
