"""The printers of all operations in NumPy: plain expressions where NumPy computes what XLA does, else `ops`.

`ops` is shardc.semantics.ops: division of integers, float to integer, clamped gathers and the like.
"""

from __future__ import annotations

from typing import cast

from shardc.backend import (
    composites,
    custom_calls,
    numpy_collectives,
    numpy_control,
    ops_elementwise,
    ops_shape,
)
from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, binary, call, index, method, raw
from shardc.backend.numpy_functions import FUNCTIONS
from shardc.backend.ops_dot import product_in
from shardc.backend.ops_elementwise import by_kind, elementwise, function, operator, strict
from shardc.backend.ops_reduce import is_named, keepdims, reduction
from shardc.backend.ops_shape import is_plain_pad, pad
from shardc.backend.ops_sort import order_of
from shardc.backend.ops_windows import cumulative, running
from shardc.backend.terms import Term
from shardc.graph import Node, is_complex, is_float, is_integer

NARROW = ("bf16", "f16")


def dot_general(body: Body, node: Node) -> Expr:
    """16-bit floats are multiplied and summed in f32, as XLA does."""
    result = body.type(node.results[0]).dtype
    inner = "f32" if result in NARROW else result
    product = product_in(body, node, inner)
    return product if inner == result else method(product, "astype", body.target.dtype(result))


def reduce(body: Body, node: Node) -> Printed:
    return reduction(body, node) if is_named(body, node) else FUNCTIONS["stablehlo.reduce"](body, node)


def convert(body: Body, node: Node) -> Printed:
    before, after = body.type(node.operands[0]).dtype, body.type(node.results[0]).dtype
    to_integer = is_float(before) and (is_integer(after) or after == "bool")
    if to_integer or (is_complex(before) and not is_complex(after)):
        return FUNCTIONS["stablehlo.convert"](body, node)
    return ops_elementwise.convert(body, node)


def sort(body: Body, node: Node) -> Printed:
    order = order_of(node)
    plain = order is not None and not order.descending
    if len(node.operands) != 1 or not plain:
        return FUNCTIONS["stablehlo.sort"](body, node)
    dim = str(node.attrs.get("dimension", body.type(node.operands[0]).rank - 1))
    return call("np.sort", body.expr(node.operands[0]), axis=dim, kind='"stable"')


def general_pad(body: Body, node: Node) -> Printed:
    return pad(body, node) if is_plain_pad(node) else FUNCTIONS["stablehlo.pad"](body, node)


def reduce_window(body: Body, node: Node) -> Printed:
    along = running(body, node)
    narrow = body.type(node.operands[0]).dtype in NARROW
    if along is None or narrow:
        return FUNCTIONS["stablehlo.reduce_window"](body, node)
    return cumulative(body, node, along)


def iota(body: Body, node: Node) -> Term:
    """NumPy counts in integers only as far as bf16 is concerned."""
    if body.type(node.results[0]).dtype != "bf16":
        return ops_shape.iota(body, node)
    type, dim = body.type(node.results[0]), cast(int, node.attrs["iota_dimension"])
    line = method(call("np.arange", str(type.shape[dim])), "astype", body.target.dtype("bf16"))
    after = type.rank - dim - 1
    expr = index(line, [":", *["None"] * after]) if after else line
    return Term(expr, (type.shape[dim], *[1] * after))


def argmax(body: Body, node: Node) -> Expr:
    """idiom.argmax and idiom.argmin"""
    found = call(
        node.name.replace("idiom.", "np."), body.expr(node.operands[0]), axis=str(node.attrs["axis"])
    )
    return method(found, "astype", body.target.dtype(body.type(node.results[0]).dtype))


def layer(body: Body, node: Node) -> Expr:
    """idiom.layer: ws[i] along the first dimension."""
    stack, place = node.operands
    if node.attrs["counter"]:
        return index(body.expr(stack), [body.index(place)])
    last = str(body.type(stack).shape[0] - 1)
    return index(body.expr(stack), [call("np.clip", body.index(place), "0", last)])


def put_layer(body: Body, node: Node) -> Expr:
    """idiom.put_layer: one part of a stack replaced, in a copy."""
    stack, update, place = node.operands
    zeros = ["0"] * (body.type(stack).rank - 1)
    part = index(body.expr(update), ["None"])
    return call("ops.dynamic_update_slice", body.expr(stack), part, body.index(place), *zeros)


def _width(dtype: str) -> str:
    return "narrow" if dtype in NARROW or is_complex(dtype) else "wide"


def _kind(dtype: str) -> str:
    return "inexact" if is_float(dtype) or is_complex(dtype) else "exact"


def _complex(real: Expr, imaginary: Expr) -> Expr:
    return binary("+", real, binary("*", raw("1j"), imaginary))


def _rsqrt(value: Expr) -> Expr:
    return binary("/", raw("1.0"), call("np.sqrt", value))


TABLE: dict[str, Printer] = {
    **FUNCTIONS,
    **ops_shape.TABLE,
    **ops_elementwise.table("np"),
    **numpy_collectives.TABLE,
    **numpy_control.TABLE,
    "stablehlo.abs": by_kind(_width, wide=function("np.abs"), narrow=FUNCTIONS["stablehlo.abs"]),
    "stablehlo.convert": convert,
    "stablehlo.complex": elementwise(_complex),
    "stablehlo.divide": by_kind(_kind, inexact=operator("/"), exact=FUNCTIONS["stablehlo.divide"]),
    "stablehlo.power": by_kind(_kind, inexact=operator("**"), exact=FUNCTIONS["stablehlo.power"]),
    "stablehlo.rsqrt": by_kind(_width, wide=elementwise(_rsqrt), narrow=FUNCTIONS["stablehlo.rsqrt"]),
    "stablehlo.round_nearest_even": function("np.rint"),
    "stablehlo.sign": by_kind(_kind, inexact=FUNCTIONS["stablehlo.sign"], exact=function("np.sign")),
    "stablehlo.dot_general": dot_general,
    "idiom.einsum": dot_general,
    "stablehlo.iota": iota,
    "stablehlo.pad": general_pad,
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.sort": sort,
    "chlo.acos": function("np.arccos"),
    "chlo.acosh": function("np.arccosh"),
    "chlo.asin": function("np.arcsin"),
    "chlo.asinh": function("np.arcsinh"),
    "chlo.atan": function("np.arctan"),
    "chlo.atanh": function("np.arctanh"),
    "chlo.conj": function("np.conj"),
    "chlo.cosh": function("np.cosh"),
    "chlo.next_after": strict("np.nextafter"),
    "chlo.sinh": function("np.sinh"),
    "chlo.square": function("np.square"),
    "chlo.tan": function("np.tan"),
    **composites.NUMPY,
    **custom_calls.NUMPY,
    "idiom.keepdims": keepdims,
    "idiom.same": FUNCTIONS["stablehlo.optimization_barrier"],
    "idiom.argmax": argmax,
    "idiom.argmin": argmax,
    "idiom.layer": layer,
    "idiom.modulo": operator("%"),
    "idiom.floor_divide": operator("//"),
    "idiom.put_layer": put_layer,
}
