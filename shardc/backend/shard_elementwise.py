"""Elementwise operations in the .shard language: operators and functions.

Each printer writes what the reader makes the same operation of again; where it could not, as for another
dtype or an attribute that the language does not state, it leaves the node to `op("…")`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, binary, call, unary
from shardc.backend.shard_raw import operation
from shardc.backend.shard_text import check_dtype
from shardc.backend.terms import common_shape
from shardc.graph import Node, is_float, is_integer
from shardc.graph.program import own_attrs

Accepts = Callable[[str], bool]


def is_signed(dtype: str) -> bool:
    return is_float(dtype) or (is_integer(dtype) and not dtype.startswith("u"))


def is_number(dtype: str) -> bool:
    return is_float(dtype) or is_integer(dtype)


def is_logical(dtype: str) -> bool:
    return dtype == "bool" or is_integer(dtype)


def is_any(dtype: str) -> bool:
    return True


def operands(body: Body, node: Node, first: int = 0) -> list[Expr]:
    """Texts that broadcast to the result's shape; at least one of those from `first` on has a dtype."""
    terms = [body.term(value) for value in node.operands]
    exprs = [term.expr for term in terms]
    shape = body.type(node.results[0]).shape
    if all(term.weak for term in terms[first:]) or common_shape(term.shape for term in terms) != shape:
        exprs[first] = body.expr(node.operands[first])
    return exprs


def elementwise(make: Callable[..., Expr], accepts: Accepts) -> Printer:
    """A printer of an elementwise operation without attributes, on the dtypes that `accepts` says."""

    def printer(body: Body, node: Node) -> Printed:
        if own_attrs(node) or not accepts(body.type(node.operands[0]).dtype):
            return operation(body, node)
        if len(node.operands) == 1:
            return make(body.expr(node.operands[0]))
        return make(*operands(body, node))

    return printer


def function(name: str, accepts: Accepts = is_float) -> Printer:
    return elementwise(partial(call, name), accepts)


def operator(symbol: str, accepts: Accepts) -> Printer:
    return elementwise(partial(binary, symbol), accepts)


def prefix(symbol: str, accepts: Accepts) -> Printer:
    return elementwise(partial(unary, symbol), accepts)


_COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def compare(body: Body, node: Node) -> Printed:
    if node.attrs.get("compare_type") == "TOTALORDER":
        return operation(body, node)
    return binary(_COMPARISONS[str(node.attrs["comparison_direction"])], *operands(body, node))


def convert(body: Body, node: Node) -> Printed:
    """astype(x, bf16); to bool the language compares with 0, which a conversion does not."""
    target = body.type(node.results[0]).dtype
    if target == "bool":
        return operation(body, node)
    return call("astype", body.expr(node.operands[0]), check_dtype(target, node.loc))


def select(body: Body, node: Node) -> Printed:
    exprs = operands(body, node, first=1)
    if body.term(node.operands[0]).weak:
        exprs[0] = body.expr(node.operands[0])
    return call("where", *exprs)


_FLOATS = {
    "cbrt": "cbrt",
    "ceil": "ceil",
    "cosine": "cos",
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "floor": "floor",
    "log": "log",
    "log_plus_one": "log1p",
    "logistic": "sigmoid",
    "round_nearest_even": "round",
    "rsqrt": "rsqrt",
    "sine": "sin",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
    "is_finite": "isfinite",
    "atan2": "arctan2",
}

TABLE: dict[str, Printer] = {
    **{f"stablehlo.{op}": function(name) for op, name in _FLOATS.items()},
    "chlo.erf": function("erf"),
    "stablehlo.abs": function("abs", is_signed),
    "stablehlo.sign": function("sign", is_number),
    "stablehlo.maximum": function("maximum", is_any),
    "stablehlo.minimum": function("minimum", is_any),
    "stablehlo.add": operator("+", is_number),
    "stablehlo.subtract": operator("-", is_number),
    "stablehlo.multiply": operator("*", is_number),
    "idiom.remainder": operator("%", is_signed),
    "idiom.floored": operator("//", is_signed),
    "stablehlo.divide": operator("/", is_float),
    "stablehlo.power": operator("**", is_float),
    "stablehlo.and": operator("&", is_logical),
    "stablehlo.or": operator("|", is_logical),
    "stablehlo.xor": operator("^", is_logical),
    "stablehlo.not": prefix("~", is_logical),
    "stablehlo.negate": prefix("-", is_number),
    "stablehlo.compare": compare,
    "stablehlo.convert": convert,
    "stablehlo.select": select,
}
