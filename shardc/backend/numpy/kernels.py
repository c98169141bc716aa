"""Operations as calls of shardc.semantics.ops: operands first, attributes as keywords."""

from __future__ import annotations

from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from shardc.backend.python.expressions import Expr, call, integers, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.backend.python.printers import Printed, Printer
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several
from shardc.graph import Graph, Node, is_builtin, is_float, is_integer
from shardc.ops import OpDef, combiner, is_tensor_op
from shardc.ops.extremes import picks_first_nan
from shardc.ops.meanings import KernelMeaning


def attribute_text(value: object) -> Expr:
    """An attribute as Python: numbers, texts, tuples of them, and the records of shardc.graph."""
    if isinstance(value, Struct):
        given = asdict(value)
        needed = [*given][: len(given) - len(value.__struct_defaults__)]
        kept = {k: attribute_text(v) for k, v in given.items() if v != () or k in needed}
        return call(type(value).__name__, **kept)
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        numbers = [item for item in items if type(item) is int]
        if len(numbers) == len(items):
            return integers(numbers)
        return tuple_of([attribute_text(item) for item in items])
    return raw(quoted(value)) if isinstance(value, str) else raw(repr(value))


def keywords(node: Node, *keys: str) -> dict[str, Expr]:
    """Those of the attributes that are there."""
    return {key: attribute_text(node.attrs[key]) for key in keys if node.attrs.get(key) is not None}


def dtype_text(scope: Scope, node: Node) -> Expr:
    """np.dtype(np.int32)"""
    return call("np.dtype", scope.target.dtype(scope.type(node.results[0]).dtype))


def kernel_of(definition: OpDef) -> KernelMeaning | None:
    """The function of `ops` that an operation means, if its arguments are its operands and attributes."""
    meaning = definition.meaning
    if isinstance(meaning, KernelMeaning) and is_tensor_op(definition.name):
        return meaning
    return None


_EXTREMES = {"argmax": "greatest", "argmin": "least"}


def extreme_kernel(graph: Graph, node: Node) -> str | None:
    """greatest or least, where a reduction along one dimension finds them with their places."""
    dims = cast("tuple[int, ...]", node.attrs["dimensions"])
    dtypes = [graph.type(value).dtype for value in node.operands[:2]]
    if len(node.operands) != 4 or len(dims) != 1 or not (is_builtin(dtypes[0]) and is_integer(dtypes[1])):
        return None
    region = node.regions[0]
    if not is_integer(dtypes[0]) and not (is_float(dtypes[0]) and picks_first_nan(region)):
        return None
    return _EXTREMES.get(combiner(region, graph) or "")


def kernel_call(definition: OpDef) -> Printer:
    """ops.name(*operands, keys…), told the shape or dtype of its result if it must be."""
    kernel = kernel_of(definition)
    assert kernel is not None

    def printer(scope: Scope, node: Node) -> Printed:
        given = keywords(node, *kernel.keys)
        if kernel.shape:
            given["shape"] = integers(scope.type(node.results[0]).shape)
        if kernel.dtype:
            given["dtype"] = dtype_text(scope, node)
        arrays = (scope.expr(value) for value in node.operands)
        expr = call(f"ops.{kernel.function.__name__}", *arrays, **given)
        return Several(expr) if kernel.several else expr

    return printer
