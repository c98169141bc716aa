"""Sorting, general reductions, linear algebra and Fourier transforms in JAX."""

from __future__ import annotations

from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, attribute, call, integers, tuple_of
from shardc.backend.names import quoted
from shardc.backend.ops_reduce import is_named, keepdims, reduction
from shardc.backend.ops_shape import ints, is_plain_pad, pad
from shardc.backend.ops_sort import order_of
from shardc.backend.regions import scalar_function
from shardc.backend.terms import Several
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Node, is_complex


def reduce(body: Body, node: Node) -> Printed:
    if is_named(body, node):
        return reduction(body, node)
    count = len(node.results)
    values = [body.expr(value) for value in node.operands[:count]]
    starts = [body.expr(value) for value in node.operands[count:]]
    combine = scalar_function(body, node, 0, "combine", ("a", "b"))
    dims = integers(ints(node, "dimensions"))
    if count == 1:
        return call("lax.reduce", values[0], starts[0], combine, dims)
    return Several(call("lax.reduce", tuple_of(values), tuple_of(starts), combine, dims))


def argmax(body: Body, node: Node) -> Expr:
    """idiom.argmax and idiom.argmin"""
    dtype = body.target.dtype(body.type(node.results[0]).dtype)
    function = node.name.replace("idiom.", "lax.")
    return call(function, body.expr(node.operands[0]), str(node.attrs["axis"]), dtype)


def sort(body: Body, node: Node) -> Printed:
    """Descending is ascending order of the reversed arrays, reversed, so equal ones keep their order."""
    order = order_of(node)
    if order is None:
        raise ShardcError(
            "JAX sorts only by the first operands, all ascending or the first descending", node.loc
        )
    dim = str(node.attrs.get("dimension", body.type(node.operands[0]).rank - 1))
    values = [body.expr(value) for value in node.operands]
    if order.descending:
        values = [call("jnp.flip", value, axis=dim) for value in values]
    many = len(values) > 1
    keys = str(order.keys) if many and order.keys != 1 else None
    operands = tuple_of(values) if many else values[0]
    done = call("lax.sort", operands, dimension=dim, num_keys=keys)
    if not order.descending:
        return Several(done) if many else done
    if not many:
        return call("jnp.flip", done, axis=dim)
    flipped = f"[jnp.flip(x, axis={dim}) for x in {done}]"
    return Several(Expr(flipped, reads=done.reads, weight=done.weight + 1))


def top_k(body: Body, node: Node) -> Printed:
    return Several(call("lax.top_k", body.expr(node.operands[0]), str(node.attrs["k"])))


def general_pad(body: Body, node: Node) -> Expr:
    if is_plain_pad(node):
        return pad(body, node)
    keys = ("edge_padding_low", "edge_padding_high", "interior_padding")
    config = tuple_of([integers(t) for t in zip(*(ints(node, key) for key in keys), strict=True)])
    return call("lax.pad", body.expr(node.operands[0]), body.expr(node.operands[1]), config)


def bitcast_convert(body: Body, node: Node) -> Expr:
    dtype = body.target.dtype(body.type(node.results[0]).dtype)
    return call("lax.bitcast_convert_type", body.expr(node.operands[0]), dtype)


def reduce_precision(body: Body, node: Node) -> Expr:
    bits = (str(node.attrs[key]) for key in ("exponent_bits", "mantissa_bits"))
    return call("lax.reduce_precision", body.expr(node.operands[0]), *bits)


def cholesky(body: Body, node: Node) -> Expr:
    """JAX reads the lower triangle; the upper one is the lower one of the adjoint."""
    (value,) = node.operands
    expr = body.expr(value)
    if node.attrs.get("lower", False):
        return call("lax.linalg.cholesky", expr, symmetrize_input="False")
    lower = call("lax.linalg.cholesky", _adjoint(body, value, expr), symmetrize_input="False")
    return _adjoint(body, value, lower)


def _adjoint(body: Body, value: int, expr: Expr) -> Expr:
    transposed = attribute(expr, "mT")
    return call("jnp.conj", transposed) if is_complex(body.type(value).dtype) else transposed


def triangular_solve(body: Body, node: Node) -> Expr:
    how = str(node.attrs.get("transpose_a", "NO_TRANSPOSE"))
    flags = {key: "True" if node.attrs.get(key) else None for key in ("left_side", "lower", "unit_diagonal")}
    return call(
        "lax.linalg.triangular_solve",
        *(body.expr(value) for value in node.operands),
        transpose_a=None if how == "NO_TRANSPOSE" else "True",
        conjugate_a="True" if how == "ADJOINT" else None,
        **flags,
    )


def fft(body: Body, node: Node) -> Expr:
    kind = quoted(str(node.attrs["fft_type"]).lower())
    return call("lax.fft", body.expr(node.operands[0]), kind, integers(ints(node, "fft_length")))


def map_(body: Body, node: Node) -> Expr:
    params = [f"x{i}" for i in range(len(node.operands))]
    function = scalar_function(body, node, 0, "apply", params)
    return call(function, *(body.expr(value) for value in node.operands))


def identity(body: Body, node: Node) -> Printed:
    """What only holds values together or constrains shardings."""
    if len(node.operands) == 1:
        return body.term(node.operands[0])
    return Several(tuple_of([body.expr(value) for value in node.operands]))


def barrier(body: Body, node: Node) -> Printed:
    """Nothing moves across it: what is computed again after it is not taken from before."""
    exprs = [body.expr(value) for value in node.operands]
    if len(exprs) == 1:
        return call("lax.optimization_barrier", exprs[0])
    return Several(call("lax.optimization_barrier", tuple_of(exprs)))


def dimension_size(body: Body, node: Node) -> Expr:
    size = body.type(node.operands[0]).shape[cast(int, node.attrs["dimension"])]
    return call(body.target.dtype("i32"), str(size))


_ALGORITHMS = {"DEFAULT": "RNG_DEFAULT", "PHILOX": "RNG_PHILOX", "THREE_FRY": "RNG_THREE_FRY"}


def rng_bit_generator(body: Body, node: Node) -> Printed:
    """The next state, and random bits."""
    type = body.type(node.results[1])
    if not type.dtype.startswith("u"):
        raise ShardcError(f"JAX makes random bits of unsigned integers, not of {type.dtype}", node.loc)
    algorithm = f"lax.RandomAlgorithm.{_ALGORITHMS[str(node.attrs['rng_algorithm'])]}"
    dtype = body.target.dtype(type.dtype)
    shape = integers(type.shape)
    function = "lax.rng_bit_generator"
    return Several(call(function, body.expr(node.operands[0]), shape, dtype=dtype, algorithm=algorithm))


TABLE: dict[str, Printer] = {
    "stablehlo.reduce": reduce,
    "idiom.keepdims": keepdims,
    "idiom.same": identity,
    "idiom.argmax": argmax,
    "idiom.argmin": argmax,
    "stablehlo.sort": sort,
    "chlo.top_k": top_k,
    "stablehlo.pad": general_pad,
    "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.reduce_precision": reduce_precision,
    "stablehlo.cholesky": cholesky,
    "stablehlo.triangular_solve": triangular_solve,
    "stablehlo.fft": fft,
    "stablehlo.rng_bit_generator": rng_bit_generator,
    "stablehlo.map": map_,
    "stablehlo.optimization_barrier": barrier,
    "stablehlo.get_dimension_size": dimension_size,
}
