"""Sorting, general reductions and linear algebra in JAX."""

from __future__ import annotations

from typing import cast

from shardc.backend.jax.arithmetic import total_order
from shardc.backend.jax.target import JAX
from shardc.backend.python import fourier, idiom
from shardc.backend.python.expressions import (
    Expr,
    attribute,
    binary,
    call,
    index,
    integers,
    method,
    tuple_of,
    unary,
)
from shardc.backend.python.names import quoted
from shardc.backend.python.printers import Printed
from shardc.backend.python.reductions import along, is_named, keepdims, reduction
from shardc.backend.python.regions import scalar_function
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints, is_plain_pad, pad
from shardc.backend.python.sorting import order_of
from shardc.backend.python.terms import Several, short
from shardc.diagnostics import ShardcError
from shardc.graph import Node, is_complex
from shardc.ops import chlo, hlo


@JAX.prints(hlo.reduce)
def reduce(scope: Scope, node: Node) -> Printed:
    if is_named(scope, node):
        return reduction(scope, node)
    count = len(node.results)
    values = [scope.expr(value) for value in node.operands[:count]]
    starts = [scope.expr(value) for value in node.operands[count:]]
    combine = scalar_function(scope, node, 0, "combine", ("a", "b"))
    dims = integers(ints(node, "dimensions"))
    if count == 1:
        return call("lax.reduce", values[0], starts[0], combine, dims)
    return Several(call("lax.reduce", tuple_of(values), tuple_of(starts), combine, dims))


@JAX.prints(idiom.argmax, idiom.argmin)
def argmax(scope: Scope, node: Node) -> Expr:
    return _argument(scope, node, short(node))


def _argument(scope: Scope, node: Node, name: str) -> Expr:
    """jnp.argmax(x, axis=1), or of another type lax.argmax(x, 1, jnp.int32)"""
    x, axis = node.operands[0], str(node.attrs["axis"])
    dtype = scope.type(node.results[-1]).dtype
    if dtype != scope.emission.default_integer:
        return call(f"lax.{name}", scope.expr(x), axis, scope.target.dtype(dtype))
    return call(f"jnp.{name}", scope.expr(x), axis=axis if scope.type(x).rank > 1 else None)


@JAX.prints(idiom.place_of_greatest)
def place_of_greatest(scope: Scope, node: Node) -> Expr:
    return _place(scope, node, "argmax")


@JAX.prints(idiom.place_of_least)
def place_of_least(scope: Scope, node: Node) -> Expr:
    return _place(scope, node, "argmin")


def _place(scope: Scope, node: Node, name: str) -> Expr:
    """jnp.argmax(x, axis=1) + start"""
    return binary("+", _argument(scope, node, name), scope.expr(node.operands[1]))


@JAX.prints(idiom.greatest)
def greatest(scope: Scope, node: Node) -> Several:
    return _with_place(scope, node, "jnp.max", "argmax")


@JAX.prints(idiom.least)
def least(scope: Scope, node: Node) -> Several:
    return _with_place(scope, node, "jnp.min", "argmin")


def _with_place(scope: Scope, node: Node, element: str, place: str) -> Several:
    """jnp.max(x, axis=1), jnp.argmax(x, axis=1) + start"""
    x = node.operands[0]
    scope.variable(x)
    found = call(element, scope.expr(x), axis=str(node.attrs["axis"]))
    return Several(tuple_of([found, _place(scope, node, place)]))


@JAX.prints(hlo.sort)
def sort(scope: Scope, node: Node) -> Printed:
    """Descending is ascending order of the reversed arrays, reversed, so equal ones keep their order."""
    order = order_of(node, scope.graph, scope.emission.made)
    if order is None:
        raise ShardcError(
            "JAX sorts only by the first operands, all ascending or the first descending", node.loc
        )
    dim = str(node.attrs.get("dimension", scope.type(node.operands[0]).rank - 1))
    if order.total:
        return _sort_totally(scope, node, order.descending, dim)
    values = [scope.expr(value) for value in node.operands]
    if order.descending:
        values = [call("jnp.flip", value, axis=dim) for value in values]
    many = len(values) > 1
    if not many and not order.descending:
        last = int(dim) == scope.type(node.operands[0]).rank - 1
        return call("jnp.sort", values[0], axis=None if last else dim)
    keys = str(order.keys) if many and order.keys != 1 else None
    operands = tuple_of(values) if many else values[0]
    done = call("lax.sort", operands, dimension=dim, num_keys=keys)
    if not order.descending:
        return Several(done) if many else done
    if not many:
        return call("jnp.flip", done, axis=dim)
    each = f"[jnp.flip(x, axis={dim}) for x in {done.head}"
    return Several(Expr(each, done.items, f"{done.tail}]", reads=done.reads, weight=done.weight + 1))


@JAX.prints(idiom.argsort)
def argsort(scope: Scope, node: Node) -> Expr:
    """jnp.argsort(x, axis=1)"""
    axis, rank = cast(int, node.attrs["axis"]), scope.type(node.operands[0]).rank
    last = None if axis == rank - 1 else str(axis)
    return _default(scope, node, call("jnp.argsort", scope.expr(node.operands[0]), axis=last))


@JAX.prints(idiom.bincount)
def bincount(scope: Scope, node: Node) -> Expr:
    found = call("jnp.bincount", scope.expr(node.operands[0]), length=str(node.attrs["length"]))
    return _default(scope, node, found)


@JAX.prints(idiom.searchsorted)
def searchsorted(scope: Scope, node: Node) -> Expr:
    """jnp.searchsorted(a, v, side="right")"""
    side = None if node.attrs["side"] == "left" else quoted(str(node.attrs["side"]))
    return call("jnp.searchsorted", *(scope.expr(value) for value in node.operands), side=side)


def _default(scope: Scope, node: Node, found: Expr) -> Expr:
    """What JAX gives as integers of the default type, as those of the result."""
    dtype = scope.type(node.results[0]).dtype
    if dtype == scope.emission.default_integer:
        return found
    return method(found, "astype", scope.target.dtype(dtype))


def _sort_totally(scope: Scope, node: Node, descending: bool, dim: str) -> Several:
    """By integers in the total order of the first operand, which lax.sort does not know."""
    key = total_order(scope, node.operands[0])
    values = [unary("~", key) if descending else key, *(scope.expr(value) for value in node.operands)]
    done = call("lax.sort", tuple_of(values), dimension=dim, num_keys="1")
    return Several(index(done, ["1:"]))


@JAX.prints(chlo.top_k)
def top_k(scope: Scope, node: Node) -> Printed:
    return Several(call("lax.top_k", scope.expr(node.operands[0]), str(node.attrs["k"])))


@JAX.prints(hlo.pad)
def general_pad(scope: Scope, node: Node) -> Expr:
    if is_plain_pad(node):
        return pad(scope, node)
    keys = ("edge_padding_low", "edge_padding_high", "interior_padding")
    config = tuple_of([integers(t) for t in zip(*(ints(node, key) for key in keys), strict=True)])
    return call("lax.pad", scope.expr(node.operands[0]), scope.expr(node.operands[1]), config)


@JAX.prints(hlo.bitcast_convert)
def bitcast_convert(scope: Scope, node: Node) -> Expr:
    dtype = scope.target.dtype(scope.type(node.results[0]).dtype)
    return call("lax.bitcast_convert_type", scope.expr(node.operands[0]), dtype)


@JAX.prints(hlo.reduce_precision)
def reduce_precision(scope: Scope, node: Node) -> Expr:
    bits = (str(node.attrs[key]) for key in ("exponent_bits", "mantissa_bits"))
    return call("lax.reduce_precision", scope.expr(node.operands[0]), *bits)


@JAX.prints(hlo.cholesky)
def cholesky(scope: Scope, node: Node) -> Expr:
    """JAX reads the lower triangle; the upper one is the lower one of the adjoint."""
    (value,) = node.operands
    expr = scope.expr(value)
    if node.attrs.get("lower", False):
        return call("lax.linalg.cholesky", expr, symmetrize_input="False")
    lower = call("lax.linalg.cholesky", _adjoint(scope, value, expr), symmetrize_input="False")
    return _adjoint(scope, value, lower)


def _adjoint(scope: Scope, value: int, expr: Expr) -> Expr:
    transposed = attribute(expr, "mT")
    return call("jnp.conj", transposed) if is_complex(scope.type(value).dtype) else transposed


@JAX.prints(hlo.triangular_solve)
def triangular_solve(scope: Scope, node: Node) -> Expr:
    how = str(node.attrs.get("transpose_a", "NO_TRANSPOSE"))
    flags = {key: "True" if node.attrs.get(key) else None for key in ("left_side", "lower", "unit_diagonal")}
    return call(
        "lax.linalg.triangular_solve",
        *(scope.expr(value) for value in node.operands),
        transpose_a=None if how == "NO_TRANSPOSE" else "True",
        conjugate_a="True" if how == "ADJOINT" else None,
        **flags,
    )


JAX.prints(hlo.fft)(fourier.fft)


@JAX.prints(hlo.map_)
def map_(scope: Scope, node: Node) -> Expr:
    params = [f"x{i}" for i in range(len(node.operands))]
    function = scalar_function(scope, node, 0, "apply", params)
    return call(function, *(scope.expr(value) for value in node.operands))


@JAX.prints(idiom.same)
def identity(scope: Scope, node: Node) -> Printed:
    """What only holds values together or constrains shardings."""
    if len(node.operands) == 1:
        return scope.term(node.operands[0])
    return Several(tuple_of([scope.expr(value) for value in node.operands]))


@JAX.prints(hlo.optimization_barrier)
def barrier(scope: Scope, node: Node) -> Printed:
    """Nothing moves across it: what is computed again after it is not taken from before."""
    exprs = [scope.expr(value) for value in node.operands]
    if len(exprs) == 1:
        return call("lax.optimization_barrier", exprs[0])
    return Several(call("lax.optimization_barrier", tuple_of(exprs)))


@JAX.prints(hlo.get_dimension_size)
def dimension_size(scope: Scope, node: Node) -> Expr:
    size = scope.type(node.operands[0]).shape[cast(int, node.attrs["dimension"])]
    return call(scope.target.dtype("i32"), str(size))


_ALGORITHMS = {"DEFAULT": "RNG_DEFAULT", "PHILOX": "RNG_PHILOX", "THREE_FRY": "RNG_THREE_FRY"}


@JAX.prints(hlo.rng_bit_generator)
def rng_bit_generator(scope: Scope, node: Node) -> Printed:
    """The next state, and random bits."""
    type = scope.type(node.results[1])
    if not type.dtype.startswith("u"):
        raise ShardcError(f"JAX makes random bits of unsigned integers, not of {type.dtype}", node.loc)
    state = scope.type(node.operands[0])
    if (state.dtype, state.shape) not in (("u64", (2,)), ("u32", (4,))):
        raise ShardcError(
            f"JAX makes random bits from a state of u64[2] or u32[4], not of {state}",
            node.loc,
            "the other targets take this one too",
        )
    algorithm = f"lax.RandomAlgorithm.{_ALGORITHMS[str(node.attrs['rng_algorithm'])]}"
    dtype = scope.target.dtype(type.dtype)
    shape = integers(type.shape)
    function = "lax.rng_bit_generator"
    return Several(call(function, scope.expr(node.operands[0]), shape, dtype=dtype, algorithm=algorithm))


JAX.prints(idiom.keepdims)(keepdims)


@JAX.prints(idiom.rounded)
def rounded(scope: Scope, node: Node) -> Expr:
    """jnp.sum(x, axis=1) of narrow floats, which JAX adds in f32"""
    return along(scope, node, str(node.attrs["function"]))
