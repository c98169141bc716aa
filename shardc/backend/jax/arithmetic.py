"""Products, division, powers and comparisons in JAX."""

from __future__ import annotations

from typing import cast

from shardc.backend.jax.exactness import algorithm
from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.elementwise import (
    COMPARISONS,
    by_kind,
    comparison,
    exactness,
    function,
    operator,
    strict,
)
from shardc.backend.python.expressions import Expr, binary, call, method, raw, unary
from shardc.backend.python.names import quoted
from shardc.backend.python.printers import Printed
from shardc.backend.python.products import contraction
from shardc.backend.python.scope import Scope
from shardc.graph import Node
from shardc.ops import hlo


@JAX.prints(hlo.dot_general, idiom.einsum)
def dot_general(scope: Scope, node: Node) -> Printed:
    operand, result = (scope.type(v).dtype for v in (node.operands[0], node.results[0]))
    wider = scope.target.dtype(result) if operand != result else None
    return contraction(scope, node, preferred_element_type=wider, precision=_precision(node))


@JAX.prints(hlo.einsum)
def einsum(scope: Scope, node: Node) -> Printed:
    operand, result = (scope.type(v).dtype for v in (node.operands[0], node.results[0]))
    wider = scope.target.dtype(result) if operand != result else None
    letters = quoted(str(node.attrs["einsum_config"]))
    arrays = (scope.expr(value) for value in node.operands)
    return call("jnp.einsum", letters, *arrays, preferred_element_type=wider)


def total_order(scope: Scope, value: int) -> Expr:
    """Integers in the order of the floats, -NaN first: the bits of |x|, inverted where the sign is set."""
    x = scope.variable(value)
    dtype = f"jnp.int{8 * scope.type(value).numpy.itemsize}"
    bits = call("lax.bitcast_convert_type", call("abs", x), dtype)
    return binary("^", bits, unary("-", method(call("jnp.signbit", x), "astype", dtype)))


def _precision(node: Node) -> str | None:
    name = algorithm(node)
    if name is not None:
        return quoted(name)
    given = cast("tuple[str, ...]", node.attrs.get("precision_config") or ())
    return next((f'"{p.lower()}"' for p in ("HIGHEST", "HIGH") if p in given), None)


def _compare_total(scope: Scope, node: Node) -> Expr:
    symbol = COMPARISONS[str(node.attrs["comparison_direction"])]
    return binary(symbol, *(total_order(scope, value) for value in node.operands))


JAX.prints(hlo.compare)(comparison(_compare_total))
JAX.prints(hlo.divide)(by_kind(exactness, inexact=operator("/"), exact=strict("lax.div")))


def _sign(dtype: str) -> str:
    return "unsigned" if dtype.startswith("u") else "signed"


JAX.prints(hlo.shift_left)(operator("<<"))
JAX.prints(hlo.shift_right_arithmetic)(
    by_kind(_sign, signed=operator(">>"), unsigned=strict("lax.shift_right_arithmetic"))
)
JAX.prints(hlo.shift_right_logical)(
    by_kind(_sign, unsigned=operator(">>"), signed=strict("lax.shift_right_logical"))
)


def power(scope: Scope, node: Node) -> Printed:
    """x ** y of integers; a negative y, which JAX leaves open, gives 0 except for the bases 1 and -1."""
    base, exponent = node.operands
    known = scope.term(exponent).literal
    if scope.type(base).dtype.startswith("u") or (known is not None and not known.startswith("-")):
        return function("jnp.power")(scope, node)
    x, y = scope.variable(base), scope.variable(exponent)
    one, zero = raw("1"), raw("0")
    sign = binary("**", x, binary("&", y, one))
    below = call("jnp.where", binary("==", call("abs", x), one), sign, zero)
    above = call("jnp.power", x, call("jnp.maximum", y, zero))
    return call("jnp.where", binary("<", y, zero), below, above)


JAX.prints(hlo.power)(by_kind(exactness, inexact=operator("**"), exact=power))
