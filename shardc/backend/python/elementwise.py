"""Operations that work element by element: operators and functions of the array module.

They take the smallest text of each operand that NumPy's broadcasting expands to the right shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, binary, call, method, unary
from shardc.backend.python.printers import ARRAYS, Printed, Printer
from shardc.backend.python.scope import Scope
from shardc.backend.python.template import is_template, templated
from shardc.backend.python.terms import Term, common_shape
from shardc.backend.python.total_order import Canonical, nans_come_first
from shardc.graph import Node, is_complex, is_float, is_integer
from shardc.ops import hlo

Make = Callable[..., Expr]


def broadcast(scope: Scope, values: Sequence[int], typed_from: int = 0) -> tuple[list[Expr], tuple[int, ...]]:
    """Texts of the operands and the shape they broadcast to; one of those after `typed_from` has a dtype."""
    terms = [scope.term(value) for value in values]
    exprs = [term.expr for term in terms]
    if all(term.weak for term in terms[typed_from:]):
        dtype = scope.target.dtype(scope.type(values[typed_from]).dtype)
        exprs[typed_from] = call(dtype, exprs[typed_from])
    return exprs, common_shape(term.shape for term in terms)


def elementwise(make: Make) -> Printer:
    """A printer that gives `make` the operands' texts."""

    def printer(scope: Scope, node: Node) -> Term:
        exprs, shape = broadcast(scope, node.operands)
        return Term(make(*exprs), shape)

    return printer


def is_operator(text: str) -> bool:
    """Whether a spelling is a symbol."""
    return not text[0].isalpha()


def applied(symbol: str, *sides: Expr) -> Expr:
    """-x, or x - y."""
    return unary(symbol, *sides) if len(sides) == 1 else binary(symbol, *sides)


def operator(symbol: str) -> Printer:
    """An operator, before one operand or between two."""
    return elementwise(partial(applied, symbol))


def function(text: str) -> Printer:
    """A function that broadcasts."""
    return elementwise(partial(call, text))


def spelled(text: str | None, is_strict: bool) -> Printer | None:
    """The printer that a spelling is enough for."""
    if text is None:
        return None
    if is_template(text):
        return templated(text)
    if is_operator(text):
        return operator(text)
    return strict(text) if is_strict else function(text)


def strict(text: str) -> Printer:
    """A function that wants one dtype and, scalars apart, one shape, as those of `lax` do."""

    def printer(scope: Scope, node: Node) -> Term:
        types = [scope.type(value) for value in node.operands]
        terms = [scope.term(value) for value in node.operands]
        shape = common_shape(term.shape for term in terms)
        exprs = [
            call(scope.target.dtype(type.dtype), term.expr)
            if term.weak
            else term.expr
            if term.shape in ((), shape)
            else scope.expr(value)
            for value, type, term in zip(node.operands, types, terms, strict=True)
        ]
        return Term(call(text, *exprs), shape)

    return printer


def by_kind(choose: Callable[[str], str], **printers: Printer) -> Printer:
    """The printer that `choose` names for the dtype of the first operand."""

    def printer(scope: Scope, node: Node) -> Printed:
        return printers[choose(scope.type(node.operands[0]).dtype)](scope, node)

    return printer


COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def comparison(in_total_order: Printer) -> Printer:
    """Comparisons by operators. `in_total_order` prints -NaN < -inf < … < -0 < 0 < … < NaN, which no operator
    does, where zeros or NaNs may differ."""

    def printer(scope: Scope, node: Node) -> Printed:
        float_ = is_float(scope.type(node.operands[0]).dtype)
        if float_ and node.attrs.get("compare_type") == "TOTALORDER":
            return _compare_canonical(scope, node) or in_total_order(scope, node)
        exprs, shape = broadcast(scope, node.operands)
        return Term(binary(COMPARISONS[str(node.attrs["comparison_direction"])], *exprs), shape)

    return printer


def _compare_canonical(scope: Scope, node: Node) -> Expr | None:
    """In the total order values with equal zeros and equal NaNs: NaNs come last. None for other values."""
    canonical = Canonical(scope.emission.made)
    if nans_come_first(scope.type(node.operands[0]).numpy):
        return None
    if any(canonical.source(value) is None for value in node.operands):
        return None
    direction = str(node.attrs["comparison_direction"])
    values = node.operands[::-1] if direction in ("GT", "GE") else node.operands
    a, b = (scope.variable(value) for value in values)
    nan_a, nan_b = (call(f"{scope.target.xp}.isnan", side) for side in (a, b))
    match direction:
        case "LT" | "GT":
            return binary("|", binary("<", a, b), binary("&", nan_b, unary("~", nan_a)))
        case "LE" | "GE":
            return binary("|", binary("<=", a, b), nan_b)
        case _:
            same = binary("|", binary("==", a, b), binary("&", nan_a, nan_b))
            return same if direction == "EQ" else unary("~", same)


@ARRAYS.prints(hlo.convert)
def convert(scope: Scope, node: Node) -> Term:
    term, source = scope.term(node.operands[0]), scope.type(node.operands[0])
    target = scope.target.dtype(scope.type(node.results[0]).dtype)
    if term.weak:
        exact = is_integer(source.dtype) and is_float(scope.type(node.results[0]).dtype)
        value = term.expr if exact else call(scope.target.dtype(source.dtype), term.expr)
        return Term(call(target, value), ())
    return Term(method(term.expr, "astype", target), term.shape)


@ARRAYS.prints(hlo.select)
def select(scope: Scope, node: Node) -> Printed:
    """where(mask, a, b); where(mask, True, False) is the mask."""
    choices = [scope.term(value) for value in node.operands[1:]]
    if [term.expr.text for term in choices] == ["True", "False"]:
        return scope.term(node.operands[0])
    exprs, shape = broadcast(scope, node.operands, typed_from=1)
    return Term(call(f"{scope.target.xp}.where", *exprs), shape)


@ARRAYS.prints(hlo.clamp)
def clamp(scope: Scope, node: Node) -> Term:
    """clamp(low, x, high) is clip(x, low, high)."""
    (low, x, high), shape = broadcast(scope, node.operands)
    return Term(call(f"{scope.target.xp}.clip", x, low, high), shape)


ARRAYS.prints(idiom.modulo)(operator("%"))
ARRAYS.prints(idiom.floor_divide)(operator("//"))


def exactness(dtype: str) -> str:
    """Division and powers are other functions of `exact` numbers than of `inexact` ones."""
    return "inexact" if is_float(dtype) or is_complex(dtype) else "exact"
