"""The printers of all operations that JAX can express."""

from __future__ import annotations

from shardc.backend import jax_collectives, ops_elementwise, ops_shape
from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import call, raw, tuple_of
from shardc.backend.ops_dot import contraction
from shardc.backend.ops_elementwise import by_kind, function, operator, strict
from shardc.backend.ops_reduce import reduction
from shardc.backend.ops_shape import ints
from shardc.graph import Node, is_complex, is_float


def _division(dtype: str) -> str:
    return "true" if is_float(dtype) or is_complex(dtype) else "truncating"


def dot_general(body: Body, node: Node) -> Printed:
    operand, result = (body.type(v).dtype for v in (node.operands[0], node.results[0]))
    wider = body.target.dtype(result) if operand != result else None
    return contraction(body, node, preferred_element_type=wider, precision=_precision(node))


def _precision(node: Node) -> str | None:
    given = set(node.attrs.get("precision_config", ())) - {"DEFAULT"}
    return f'"{max(given).lower()}"' if given else None


ELEMENTWISE: dict[str, Printer] = {
    **ops_elementwise.table("jnp"),
    "stablehlo.divide": by_kind(_division, true=operator("/"), truncating=strict("lax.div")),
    "stablehlo.rsqrt": function("lax.rsqrt"),
    "stablehlo.logistic": function("jax.nn.sigmoid"),
}

TABLE: dict[str, Printer] = {
    **ops_shape.TABLE,
    **ELEMENTWISE,
    **jax_collectives.TABLE,
    "stablehlo.dot_general": dot_general,
    "stablehlo.reduce": reduction,
}
