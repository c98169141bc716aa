"""Composites by JAX's names for them: jax.nn.softmax(x, axis=-1)."""

from __future__ import annotations

from typing import cast

from shardc.backend.jax.casts import cast_to
from shardc.backend.jax.target import JAX
from shardc.backend.python import group, idiom
from shardc.backend.python.elementwise import function, operator
from shardc.backend.python.expressions import Expr, applied, binary, call, index, integers, list_of, raw
from shardc.backend.python.names import quoted
from shardc.backend.python.printers import Printer
from shardc.backend.python.reductions import statistic
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import axes, ints
from shardc.backend.python.terms import Term
from shardc.graph import Node


def _unary(name: str) -> Printer:
    def printer(scope: Scope, node: Node) -> Term:
        term = scope.term(node.operands[0])
        value = scope.expr(node.operands[0]) if term.weak else term.expr
        return Term(call(name, value), scope.type(node.operands[0]).shape if term.weak else term.shape)

    return printer


@JAX.prints(group.gelu)
def _gelu(scope: Scope, node: Node) -> Expr:
    exact = "False" if node.attrs["variant"] == 1 else None
    return call("jax.nn.gelu", scope.expr(node.operands[0]), approximate=exact)


def _along(name: str) -> Printer:
    def printer(scope: Scope, node: Node) -> Expr:
        rank, dims = scope.type(node.operands[0]).rank, ints(node, "dimensions")
        axis = None if dims == (rank - 1,) else axes(dims)
        return call(name, scope.expr(node.operands[0]), axis=axis or raw("-1"))

    return printer


JAX.prints(group.relu)(_unary("jax.nn.relu"))
JAX.prints(group.silu)(_unary("jax.nn.silu"))
JAX.prints(group.softplus)(_unary("jax.nn.softplus"))
JAX.prints(group.softmax)(_along("jax.nn.softmax"))
JAX.prints(group.log_softmax)(_along("jax.nn.log_softmax"))
JAX.prints(idiom.sigmoid)(_unary("jax.nn.sigmoid"))
JAX.prints(idiom.isnan)(_unary("jnp.isnan"))
JAX.prints(idiom.logaddexp)(function("jnp.logaddexp"))
JAX.prints(idiom.logsumexp)(_along("jax.nn.logsumexp"))


JAX.prints(idiom.var)(statistic)


@JAX.prints(idiom.pulled_back)
def _pulled_back(scope: Scope, node: Node) -> Expr:
    """jax.vjp(jax.nn.gelu, x)[1](g)[0]; of what is reduced and a number 0.5 * jax.grad(lambda x: …)(x)

    JAX wants that x and g vary over the same axes.
    """
    function = f"jax.nn.{str(node.attrs['function']).partition('.')[2]}"
    x, g = node.operands
    rank = scope.type(x).rank
    reduces = node.attrs["function"] == idiom.logsumexp.name
    if node.attrs.get("variant") == 1:
        function = f"lambda x: {function}(x, approximate=False)"
    elif reduces or node.attrs.get("dimensions", (rank - 1,)) != (rank - 1,):
        dims = ints(node, "dimensions")
        axis = "-1" if dims == (rank - 1,) else axes(dims).text
        function = f"lambda x: {function}(x, axis={axis})"
    if reduces and scope.term(g).weak:
        slopes = call(call("jax.grad", f"{function}.sum()"), scope.expr(x))
        return binary("*", scope.term(g).expr, slopes)
    varying = scope.emission.varying
    varies = varying.get(x, frozenset[str]()) | varying.get(g, frozenset[str]())
    point, slope = (cast_to(scope, scope.expr(value), varies, value) for value in (x, g))
    return pulled(raw(function), point, slope)


def pulled(function: Expr, point: Expr, slope: Expr) -> Expr:
    """jax.vjp(jax.nn.gelu, x)[1](g)[0]"""
    return applied(call("jax.vjp", function, point), f"[1]({slope})[0]", slope)


@JAX.prints(idiom.take_along)
def _take_along(scope: Scope, node: Node) -> Expr:
    table, ids = (scope.expr(value) for value in node.operands)
    mode = quoted(str(node.attrs["mode"])) if "mode" in node.attrs else None
    return call("jnp.take_along_axis", table, ids, axis=str(node.attrs["axis"]), mode=mode)


@JAX.prints(idiom.take_filled)
def _take(scope: Scope, node: Node) -> Expr:
    table, ids = (scope.expr(value) for value in node.operands)
    return call("jnp.take", table, ids, axis=str(node.attrs["axis"]))


JAX.prints(idiom.remainder)(operator("%"))
JAX.prints(idiom.floored)(operator("//"))


@JAX.prints(idiom.clip)
def _clip(scope: Scope, node: Node) -> Expr:
    x, low, high = node.operands
    return call("jnp.clip", scope.expr(x), scope.term(low).expr, scope.term(high).expr)


@JAX.prints(idiom.roll)
def _roll(scope: Scope, node: Node) -> Expr:
    shift, axis = str(node.attrs["shift"]), str(node.attrs["axis"])
    return call("jnp.roll", scope.expr(node.operands[0]), shift, axis=axis)


@JAX.prints(idiom.one_hot)
def _one_hot(scope: Scope, node: Node) -> Expr:
    type = scope.type(node.results[0])
    default = type.dtype == "f32" and scope.emission.default_integer == "i32"  # else floats have 64 bits, too
    dtype = None if default else scope.target.dtype(type.dtype)
    return call("jax.nn.one_hot", scope.expr(node.operands[0]), str(node.attrs["classes"]), dtype=dtype)


@JAX.prints(idiom.eye)
def _eye(scope: Scope, node: Node) -> Expr:
    """jnp.eye(4, 5, k=1, dtype=jnp.float32)"""
    type = scope.type(node.results[0])
    sizes = map(str, dict.fromkeys(type.shape))
    diagonal = str(node.attrs["diagonal"]) if node.attrs["diagonal"] else None
    return call("jnp.eye", *sizes, k=diagonal, dtype=scope.target.dtype(type.dtype))


@JAX.prints(idiom.linspace)
def _linspace(scope: Scope, node: Node) -> Expr:
    """jnp.linspace(0.0, 1.0, 8, dtype=jnp.float32)"""
    type = scope.type(node.results[0])
    ends = (scope.term(value).expr for value in node.operands)
    return call("jnp.linspace", *ends, str(type.shape[0]), dtype=scope.target.dtype(type.dtype))


@JAX.prints(idiom.repeat)
def _repeat(scope: Scope, node: Node) -> Expr:
    axis = str(node.attrs["axis"])
    return call("jnp.repeat", scope.expr(node.operands[0]), str(node.attrs["count"]), axis=axis)


@JAX.prints(idiom.tile)
def _tile(scope: Scope, node: Node) -> Expr:
    counts = [1] * scope.type(node.operands[0]).rank
    counts[cast(int, node.attrs["axis"])] = cast(int, node.attrs["count"])
    return call("jnp.tile", scope.expr(node.operands[0]), integers(counts))


@JAX.prints(idiom.stack)
def _stack(scope: Scope, node: Node) -> Expr:
    axis = str(node.attrs["axis"]) if node.attrs["axis"] else None
    return call("jnp.stack", list_of([scope.expr(value) for value in node.operands]), axis=axis)


@JAX.prints(idiom.item)
def _item(scope: Scope, node: Node) -> Expr:
    """x[:, 3]"""
    at = dict(cast("tuple[tuple[int, int], ...]", node.attrs["at"]))
    return index(scope.expr(node.operands[0]), [str(at.get(d, ":")) for d in range(max(at) + 1)])
