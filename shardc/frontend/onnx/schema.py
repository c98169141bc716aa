"""Attributes of a node, checked against ONNX's schema of its operator at the model's opset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import onnx
from onnx import AttributeProto, NodeProto, defs

from shardc.frontend.onnx.errors import Invalid

STANDARD = ("", "ai.onnx")


def schema_of(node: NodeProto, opsets: Mapping[str, int]) -> defs.OpSchema | None:
    """The schema of a node's operator at the model's opset; None if there is none."""
    domain = "" if node.domain in STANDARD else node.domain
    version = opsets.get(domain)
    if version is None:
        return None
    try:
        return defs.get_schema(node.op_type, version, domain)
    except defs.SchemaError:
        return None


def attributes_of(node: NodeProto, schema: defs.OpSchema) -> dict[str, Any]:
    """Name -> value, with the schema's defaults. Invalid for what the schema does not have."""
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        known = schema.attributes.get(attribute.name)
        if known is None:
            names = ", ".join(schema.attributes) or "none"
            raise Invalid(
                f"{node.op_type} has no attribute {attribute.name} at opset {schema.since_version}; "
                f"it has {names}"
            )
        if attribute.ref_attr_name:
            raise Invalid(f"attribute {attribute.name} refers to one of a function outside a function")
        if int(cast(Any, known.type).value) != attribute.type:
            raise Invalid(
                f"attribute {attribute.name} of {node.op_type} is no {cast(Any, known.type).name.lower()}"
            )
        found[attribute.name] = attribute_value(attribute)
    for name, known in schema.attributes.items():
        if name in found:
            continue
        if known.required:
            raise Invalid(f"{node.op_type} needs attribute {name}")
        if known.default_value.type != AttributeProto.UNDEFINED:
            found[name] = attribute_value(known.default_value)
    return found


def check_counts(node: NodeProto, schema: defs.OpSchema) -> None:
    """Invalid unless the node has as many inputs and outputs as the schema allows."""
    for what, given, least, most in (
        ("inputs", len(node.input), schema.min_input, schema.max_input),
        ("outputs", len(node.output), schema.min_output, schema.max_output),
    ):
        if not least <= given <= most:
            raise Invalid(f"{node.op_type} has {given} {what}, and should have {least} to {most}")


def check_dtypes(node: NodeProto, schema: defs.OpSchema | None, dtypes: Sequence[str | None]) -> None:
    """Invalid unless inputs that share a type in the schema have one dtype; None: an input left out."""
    if schema is None:
        return
    formal = schema.inputs
    first: dict[str, tuple[str, str]] = {}
    for index, (name, dtype) in enumerate(zip(node.input, dtypes, strict=False)):
        said = formal[min(index, len(formal) - 1)]
        if dtype is None or not said.is_homogeneous or said.type_str not in _variables(schema):
            continue
        before, known = first.setdefault(said.type_str, (name, dtype))
        if known != dtype:
            raise Invalid(
                f"{node.op_type} takes {before} and {name} of one dtype: they are {known} and {dtype}"
            )


def _variables(schema: defs.OpSchema) -> set[str]:
    return {constraint.type_param_str for constraint in schema.type_constraints}


def has_body(schema: defs.OpSchema) -> bool:
    """Whether ONNX defines the operator by a function body."""
    known = cast(Any, schema)
    return bool(known.has_function or known.has_context_dependent_function)


def subgraphs(node: NodeProto) -> Iterable[onnx.GraphProto]:
    """The bodies of a node."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def attribute_value(attribute: AttributeProto) -> Any:
    """Texts as str, lists as tuples, all else as ONNX gives it."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if attribute.type == AttributeProto.STRINGS:
        return tuple(item.decode("utf-8", "replace") for item in value)
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return tuple(value)
    return value
