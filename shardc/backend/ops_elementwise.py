"""Operations that work element by element: operators and functions of the array module.

They take the smallest text of each operand that NumPy's broadcasting expands to the right shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, binary, call, method, unary
from shardc.backend.terms import Term, common_shape
from shardc.graph import Node, is_float, is_integer

Make = Callable[..., Expr]


def broadcast(body: Body, values: Sequence[int], typed_from: int = 0) -> tuple[list[Expr], tuple[int, ...]]:
    """Texts of the operands and the shape they broadcast to; one of those after `typed_from` has a dtype."""
    terms = [body.term(value) for value in values]
    exprs = [term.expr for term in terms]
    if all(term.weak for term in terms[typed_from:]):
        dtype = body.target.dtype(body.type(values[typed_from]).dtype)
        exprs[typed_from] = call(dtype, exprs[typed_from])
    return exprs, common_shape(term.shape for term in terms)


def elementwise(make: Make, typed_from: int = 0) -> Printer:
    """A printer that gives `make` the operands' texts."""

    def printer(body: Body, node: Node) -> Term:
        exprs, shape = broadcast(body, node.operands, typed_from)
        return Term(make(*exprs), shape)

    return printer


def operator(symbol: str) -> Printer:
    return elementwise(partial(binary, symbol))


def prefix(symbol: str) -> Printer:
    return elementwise(partial(unary, symbol))


def function(text: str) -> Printer:
    return elementwise(partial(call, text))


def strict(text: str) -> Printer:
    """A function that wants one dtype and, scalars apart, one shape, as those of `lax` do."""

    def printer(body: Body, node: Node) -> Term:
        types = [body.type(value) for value in node.operands]
        terms = [body.term(value) for value in node.operands]
        shape = common_shape(term.shape for term in terms)
        exprs = [
            call(body.target.dtype(type.dtype), term.expr)
            if term.weak
            else term.expr
            if term.shape in ((), shape)
            else body.expr(value)
            for value, type, term in zip(node.operands, types, terms, strict=True)
        ]
        return Term(call(text, *exprs), shape)

    return printer


def by_kind(choose: Callable[[str], str], **printers: Printer) -> Printer:
    """The printer that `choose` names for the dtype of the first operand."""

    def printer(body: Body, node: Node) -> Printed:
        return printers[choose(body.type(node.operands[0]).dtype)](body, node)

    return printer


_COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def compare(body: Body, node: Node) -> Term:
    exprs, shape = broadcast(body, node.operands)
    return Term(binary(_COMPARISONS[str(node.attrs["comparison_direction"])], *exprs), shape)


def convert(body: Body, node: Node) -> Term:
    term, source = body.term(node.operands[0]), body.type(node.operands[0])
    target = body.target.dtype(body.type(node.results[0]).dtype)
    if term.weak:
        exact = is_integer(source.dtype) and is_float(body.type(node.results[0]).dtype)
        value = term.expr if exact else call(body.target.dtype(source.dtype), term.expr)
        return Term(call(target, value), ())
    return Term(method(term.expr, "astype", target), term.shape)


def select(xp: str) -> Printer:
    """where(mask, a, b); where(mask, True, False) is the mask."""
    general = elementwise(partial(call, f"{xp}.where"), typed_from=1)

    def printer(body: Body, node: Node) -> Printed:
        choices = [body.term(value) for value in node.operands[1:]]
        if [term.expr.text for term in choices] == ["True", "False"]:
            return body.term(node.operands[0])
        return general(body, node)

    return printer


def clamp(xp: str) -> Printer:
    """clamp(low, x, high) is clip(x, low, high)."""

    def printer(body: Body, node: Node) -> Term:
        (low, x, high), shape = broadcast(body, node.operands, typed_from=0)
        return Term(call(f"{xp}.clip", x, low, high), shape)

    return printer


def table(xp: str) -> dict[str, Printer]:
    """What jax.numpy and NumPy write alike."""
    functions = {
        "abs": "abs",
        "sign": "sign",
        "exponential": "exp",
        "exponential_minus_one": "expm1",
        "log": "log",
        "log_plus_one": "log1p",
        "tanh": "tanh",
        "sine": "sin",
        "cosine": "cos",
        "tan": "tan",
        "sqrt": "sqrt",
        "cbrt": "cbrt",
        "floor": "floor",
        "ceil": "ceil",
        "atan2": "arctan2",
        "maximum": "maximum",
        "minimum": "minimum",
        "is_finite": "isfinite",
        "real": "real",
        "imag": "imag",
        "round_nearest_even": "round",
    }
    operators = {"add": "+", "subtract": "-", "multiply": "*", "and": "&", "or": "|", "xor": "^"}
    return {
        **{f"stablehlo.{op}": function(f"{xp}.{text}") for op, text in functions.items()},
        **{f"stablehlo.{op}": operator(text) for op, text in operators.items()},
        "stablehlo.negate": prefix("-"),
        "stablehlo.not": prefix("~"),
        "stablehlo.compare": compare,
        "stablehlo.convert": convert,
        "stablehlo.select": select(xp),
        "stablehlo.clamp": clamp(xp),
    }
