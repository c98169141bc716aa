"""op("stablehlo.gather", x, i, {…}): every operation that has no name of its own in the .shard language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from shardc.backend.python.expressions import Expr, call, keyword, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several, Term
from shardc.backend.shard.functions import region_function
from shardc.diagnostics import ShardcError
from shardc.graph import Node, TensorType
from shardc.graph.program import Attrs, own_attrs
from shardc.ops import ShapeError, hlo, infer, is_tensor_op
from shardc.semantics.lapack import OPTIONS

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WISHES = {hlo.sort.name: "before", hlo.select_and_scatter.name: "choose"}


def operation(scope: Scope, node: Node, types: Sequence[TensorType] | None = None) -> Expr | Several | Term:
    """The operation by its own name, with all its attributes, and its regions as functions. `types` are of
    results that are not the node's.
    """
    if not is_tensor_op(node.name):
        raise ShardcError(f"{node.name} cannot be written as a .shard program", node.loc)
    items = [raw(quoted(node.name)), *(scope.expr(value) for value in node.operands)]
    attrs = own_attrs(node)
    if attrs:
        items.append(_record(node, attrs))
    types = types or [scope.type(value) for value in node.results]
    if not _is_told(scope, node, attrs, types):
        items.append(keyword("result", _one_or_several([raw(str(type)) for type in types])))
    wish = _WISHES.get(node.name, "combine")
    functions = [raw(region_function(scope, node, i, wish)) for i in range(len(node.regions))]
    if functions:
        items.append(keyword("body", _one_or_several(functions)))
    expr = call("op", *items)
    return expr if len(node.results) == 1 else Several(expr)


def _one_or_several(items: Sequence[Expr]) -> Expr:
    return items[0] if len(items) == 1 else tuple_of(items)


def _is_told(scope: Scope, node: Node, attrs: Attrs, results: Sequence[TensorType]) -> bool:
    """Whether operands, attributes and regions tell the result types."""
    types = [scope.type(value) for value in node.operands]
    regions = [scope.graph.types(region.results) for region in node.regions]
    try:
        told = infer(node.name, types, attrs, region_results=regions)
    except ShapeError:
        return False
    return list(told) == list(results)


def _record(node: Node, attrs: Attrs) -> Expr:
    """{slice_sizes=(1, 4), indices_are_sorted=False}; options of a call as {backend_config={uplo=76}}"""
    items: list[Expr] = []
    for key, value in attrs.items():
        if key == OPTIONS:
            options = cast("tuple[tuple[str, object], ...]", value)
            given = [keyword(name, _attribute(node, name, option)) for name, option in options]
            items.append(keyword("backend_config", record(given)))
            continue
        if key == "backend_config" and not value and OPTIONS in attrs:
            continue
        if not _NAME.fullmatch(key):
            raise ShardcError(f"attribute {key} of {node.name} cannot be written", node.loc)
        items.append(keyword(key, _attribute(node, key, value)))
    return record(items)


def record(items: Sequence[Expr]) -> Expr:
    """{a=1, b=2}"""
    shown = tuple_of(items)
    return Expr("{", shown.items, "}", reads=shown.reads)


def _attribute(node: Node, key: str, value: object) -> Expr:
    match value:
        case bool() | int() | float():
            return raw(str(value))
        case str() if '"' not in value and value.isprintable():
            return raw(quoted(value))
        case tuple():
            items = cast("tuple[object, ...]", value)
            return tuple_of([_attribute(node, key, item) for item in items])
        case Struct():
            given = [*asdict(value).items()]
            needed = len(given) - len(value.__struct_defaults__)
            usual = zip(given[needed:], value.__struct_defaults__, strict=True)
            stated = [*given[:needed], *(item for item, default in usual if item[1] != default)]
            return record([keyword(name, _attribute(node, name, item)) for name, item in stated])
        case _:
            raise ShardcError(f"attribute {key} of {node.name} cannot be written", node.loc)
