"""What NumPy writes as a plain expression for some dtypes, orders and geometries only."""

from __future__ import annotations

from typing import cast

from shardc.backend.numpy.functions import convert_call, reduce_call, reduce_window_call, sort_call
from shardc.backend.numpy.kernels import kernel_call, keywords
from shardc.backend.numpy.target import NUMPY
from shardc.backend.python import elementwise as arrays
from shardc.backend.python import idiom, shapes
from shardc.backend.python.elementwise import (
    by_kind,
    comparison,
    elementwise,
    exactness,
    function,
    operator,
    strict,
)
from shardc.backend.python.expressions import Expr, binary, call, index, integers, method, raw
from shardc.backend.python.printers import Printed, Printer
from shardc.backend.python.products import product_in
from shardc.backend.python.reductions import is_named, reduction
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.backend.python.sorting import order_of
from shardc.backend.python.terms import Term, short
from shardc.backend.python.windows import cumulative, running
from shardc.graph import Node, is_builtin, is_complex, is_float, is_integer, is_narrow
from shardc.ops import OpDef, hlo


@NUMPY.prints(hlo.dot_general, idiom.einsum)
def dot_general(scope: Scope, node: Node) -> Expr:
    """Narrow floats are multiplied and summed in f32, as XLA does."""
    result = scope.type(node.results[0]).dtype
    inner = "f32" if is_narrow(result) else result
    product = product_in(scope, node, inner)
    return product if inner == result else method(product, "astype", scope.target.dtype(result))


@NUMPY.prints(hlo.reduce)
def reduce(scope: Scope, node: Node) -> Printed:
    return reduction(scope, node) if is_named(scope, node) else reduce_call(scope, node)


@NUMPY.prints(hlo.convert)
def convert(scope: Scope, node: Node) -> Printed:
    before, after = scope.type(node.operands[0]).dtype, scope.type(node.results[0]).dtype
    to_integer = is_float(before) and (is_integer(after) or after == "bool")
    if to_integer or (is_complex(before) and not is_complex(after)):
        return convert_call(scope, node)
    return arrays.convert(scope, node)


@NUMPY.prints(hlo.sort)
def sort(scope: Scope, node: Node) -> Printed:
    order = order_of(node, scope.graph, scope.emission.made)
    dtype = scope.type(node.operands[0]).dtype
    plain = order is not None and not order.descending and not order.total
    if len(node.operands) != 1 or not plain or not is_builtin(dtype) or is_complex(dtype):
        return sort_call(scope, node)  # of others NumPy sorts no NaNs; complex numbers with one it puts last
    dim = str(node.attrs.get("dimension", scope.type(node.operands[0]).rank - 1))
    return call("np.sort", scope.expr(node.operands[0]), axis=dim, kind='"stable"')


_pad_call = kernel_call(hlo.pad)


@NUMPY.prints(hlo.pad)
def general_pad(scope: Scope, node: Node) -> Printed:
    return shapes.pad(scope, node) if shapes.is_plain_pad(node) else _pad_call(scope, node)


@NUMPY.prints(hlo.reduce_window)
def reduce_window(scope: Scope, node: Node) -> Printed:
    along = running(scope, node)
    narrow = is_narrow(scope.type(node.operands[0]).dtype)
    if along is None or along[1] or narrow:
        return reduce_window_call(scope, node)
    return cumulative(scope, node, along[0])


@NUMPY.prints(hlo.iota)
def iota(scope: Scope, node: Node) -> Term:
    """NumPy counts in dtypes of its own only."""
    if is_builtin(scope.type(node.results[0]).dtype):
        return shapes.iota(scope, node)
    type, dim = scope.type(node.results[0]), cast(int, node.attrs["iota_dimension"])
    line = method(call("np.arange", str(type.shape[dim])), "astype", scope.target.dtype(type.dtype))
    after = type.rank - dim - 1
    expr = index(line, [":", *["None"] * after]) if after else line
    return Term(expr, (type.shape[dim], *[1] * after))


@NUMPY.prints(idiom.argmax, idiom.argmin)
def argmax(scope: Scope, node: Node) -> Expr:
    """np.argmax(x, axis=1).astype(np.int32)"""
    found = call(f"np.{short(node)}", scope.expr(node.operands[0]), axis=str(node.attrs["axis"]))
    return method(found, "astype", scope.target.dtype(scope.type(node.results[0]).dtype))


@NUMPY.prints(hlo.dynamic_slice)
def dynamic_slice(scope: Scope, node: Node) -> Expr:
    """ops.dynamic_slice(x, np.int32(0), i, slice_sizes=(8, 2)): a whole dimension is taken from 0."""
    value, *starts = node.operands
    sizes, shape = ints(node, "slice_sizes"), scope.type(value).shape
    zero = call(scope.target.dtype(scope.type(starts[0]).dtype), "0") if starts else raw("0")
    places = [
        zero if size == full else scope.expr(start)
        for start, size, full in zip(starts, sizes, shape, strict=True)
    ]
    return call("ops.dynamic_slice", scope.expr(value), *places, slice_sizes=integers(sizes))


@NUMPY.prints(idiom.layer)
def layer(scope: Scope, node: Node) -> Expr:
    """ws[i] along a dimension."""
    stack, place = node.operands
    axis = cast(int, node.attrs["axis"])
    if node.attrs["counter"]:
        return index(scope.expr(stack), [*[":"] * axis, scope.index(place)])
    last = str(scope.type(stack).shape[axis] - 1)
    return index(scope.expr(stack), [*[":"] * axis, call("np.clip", scope.index(place), "0", last)])


@NUMPY.prints(idiom.put_layer)
def put_layer(scope: Scope, node: Node) -> Expr:
    """One part of a stack replaced, in a copy."""
    stack, update, place = node.operands
    zeros = ["0"] * (scope.type(stack).rank - 1)
    part = index(scope.expr(update), ["None"])
    return call("ops.dynamic_update_slice", scope.expr(stack), part, scope.index(place), *zeros)


def _width(dtype: str) -> str:
    return "narrow" if is_narrow(dtype) or is_complex(dtype) else "wide"


def _field(dtype: str) -> str:
    return "complex" if is_complex(dtype) else "real"


def _rsqrt(value: Expr) -> Expr:
    return binary("/", raw("1.0"), call("np.sqrt", value))


def _kernel(definition: OpDef) -> Printer:
    """The function of `ops` that the definition names."""
    assert definition.spelling.numpy is not None
    return strict(definition.spelling.numpy)


def _compare_total(scope: Scope, node: Node) -> Expr:
    given = keywords(node, "comparison_direction", "compare_type")
    return call("ops.compare", *(scope.expr(value) for value in node.operands), **given)


NUMPY.prints(hlo.abs_)(by_kind(_width, wide=function("np.abs"), narrow=_kernel(hlo.abs_)))
NUMPY.prints(hlo.atan2)(by_kind(_field, real=function("np.arctan2"), complex=strict("ops.atan2")))
NUMPY.prints(hlo.compare)(comparison(_compare_total))
NUMPY.prints(hlo.divide)(by_kind(exactness, inexact=operator("/"), exact=_kernel(hlo.divide)))
NUMPY.prints(hlo.power)(by_kind(exactness, inexact=operator("**"), exact=_kernel(hlo.power)))
NUMPY.prints(hlo.rsqrt)(by_kind(_width, wide=elementwise(_rsqrt), narrow=_kernel(hlo.rsqrt)))
NUMPY.prints(hlo.sign)(by_kind(exactness, inexact=_kernel(hlo.sign), exact=function("np.sign")))
