"""The printers of all operations that JAX can express."""

from __future__ import annotations

from typing import cast

from shardc.backend import (
    composites,
    custom_calls,
    jax_batch_norm,
    jax_collectives,
    jax_control,
    jax_indexing,
    jax_special,
    jax_windows,
    ops_elementwise,
    ops_shape,
)
from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.ops_dot import contraction
from shardc.backend.ops_elementwise import by_kind, function, operator, strict
from shardc.graph import Node, is_complex, is_float


def dot_general(body: Body, node: Node) -> Printed:
    operand, result = (body.type(v).dtype for v in (node.operands[0], node.results[0]))
    wider = body.target.dtype(result) if operand != result else None
    return contraction(body, node, preferred_element_type=wider, precision=_precision(node))


def _precision(node: Node) -> str | None:
    given = cast("tuple[str, ...]", node.attrs.get("precision_config") or ())
    return next((f'"{p.lower()}"' for p in ("HIGHEST", "HIGH") if p in given), None)


def _kind(dtype: str) -> str:
    return "inexact" if is_float(dtype) or is_complex(dtype) else "exact"


ELEMENTWISE: dict[str, Printer] = {
    **ops_elementwise.table("jnp"),
    "stablehlo.divide": by_kind(_kind, inexact=operator("/"), exact=strict("lax.div")),
    "stablehlo.power": by_kind(_kind, inexact=operator("**"), exact=function("jnp.power")),
    "stablehlo.remainder": strict("lax.rem"),
    "idiom.modulo": operator("%"),
    "idiom.floor_divide": operator("//"),
    "stablehlo.rsqrt": function("lax.rsqrt"),
    "stablehlo.logistic": function("jax.nn.sigmoid"),
    "stablehlo.round_nearest_afz": function("lax.round"),
    "stablehlo.shift_left": strict("lax.shift_left"),
    "stablehlo.shift_right_arithmetic": strict("lax.shift_right_arithmetic"),
    "stablehlo.shift_right_logical": strict("lax.shift_right_logical"),
    "stablehlo.popcnt": function("lax.population_count"),
    "stablehlo.count_leading_zeros": function("lax.clz"),
    "stablehlo.complex": strict("lax.complex"),
    "chlo.acos": function("jnp.arccos"),
    "chlo.acosh": function("jnp.arccosh"),
    "chlo.asin": function("jnp.arcsin"),
    "chlo.asinh": function("jnp.arcsinh"),
    "chlo.atan": function("jnp.arctan"),
    "chlo.atanh": function("jnp.arctanh"),
    "chlo.bessel_i1e": function("lax.bessel_i1e"),
    "chlo.conj": function("jnp.conj"),
    "chlo.cosh": function("jnp.cosh"),
    "chlo.digamma": function("lax.digamma"),
    "chlo.erf": function("lax.erf"),
    "chlo.erf_inv": function("lax.erf_inv"),
    "chlo.erfc": function("lax.erfc"),
    "chlo.is_inf": function("jnp.isinf"),
    "chlo.is_neg_inf": function("jnp.isneginf"),
    "chlo.is_pos_inf": function("jnp.isposinf"),
    "chlo.lgamma": function("lax.lgamma"),
    "chlo.next_after": strict("lax.nextafter"),
    "chlo.polygamma": strict("lax.polygamma"),
    "chlo.sinh": function("jnp.sinh"),
    "chlo.square": function("jnp.square"),
    "chlo.tan": function("jnp.tan"),
    "chlo.zeta": strict("lax.zeta"),
}

TABLE: dict[str, Printer] = {
    **ops_shape.TABLE,
    **ELEMENTWISE,
    **jax_batch_norm.TABLE,
    **jax_collectives.TABLE,
    **jax_control.TABLE,
    **jax_indexing.TABLE,
    **jax_special.TABLE,
    **jax_windows.TABLE,
    **composites.JAX,
    **custom_calls.JAX,
    "stablehlo.dot_general": dot_general,
    "idiom.einsum": dot_general,
}
