"""What is decided while compiling: the conditions of if, of `a if known else b` and of assert."""

from __future__ import annotations

from shardc.frontend.text import syntax as s
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.values import Number, Tensor, Value, describe


def known(scope: Scope, condition: s.Expr, word: str) -> bool:
    """Whether a condition holds; an error unless that is known while compiling."""
    value = scope.value(condition)
    if isinstance(value, Tensor):
        hint = "where(condition, x, y) chooses elementwise, cond(pred, f, g, x) between functions"
        if word == "assert":
            hint = "shapes, sizes and constants are known; nothing fails while a program runs"
        message = f"{word} takes what is known while compiling, not {describe(value)}"
        raise scope.e.error(message, hint, condition.pos)
    if not isinstance(value, Number | None):
        raise scope.e.error(f"{word} takes a condition, not {describe(value)}", pos=condition.pos)
    return bool(value)


def choice(scope: Scope, expr: s.Choice) -> Value:
    """`yes if condition else no`: one of the two is built."""
    return scope.value(expr.yes if known(scope, expr.condition, "if") else expr.no)
