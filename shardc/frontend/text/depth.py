"""The bound on how deep expressions nest, so that everything after the parser may recurse over them."""

from __future__ import annotations

from collections.abc import Iterator

from shardc.frontend.text import syntax as s
from shardc.frontend.text.syntax import SyntaxProblem

MAX_DEPTH = 100
"""How deep an expression may be. A chain like a + b + c counts once: it is walked in a loop."""

MAX_LOOPS = 16
"""How deep loops, choices and functions may be nested."""


def check_depth(program: s.Program) -> None:
    """Raise SyntaxProblem where an expression or a nest of blocks is too deep."""
    for declared in (*program.sizes, *program.constants):
        _check(declared.value)
    for assertion in program.assertions:
        _check(assertion.condition)
    for function in program.functions:
        stack: list[tuple[s.Statement, int]] = [(statement, 1) for statement in function.body]
        while stack:
            statement, depth = stack.pop()
            if depth > MAX_LOOPS and isinstance(statement, s.For | s.While | s.If | s.Function):
                raise SyntaxProblem(f"blocks are nested more than {MAX_LOOPS} deep", statement.pos)
            for expr in expressions(statement):
                _check(expr)
            stack += [(inner, depth + 1) for inner in statements(statement)]


def expressions(statement: s.Statement) -> tuple[s.Expr, ...]:
    """The expressions of a statement, but for those of the statements inside."""
    match statement:
        case s.Assign() | s.Return():
            return (statement.value,)
        case s.For():
            return (statement.stacks,)
        case s.While():
            return (statement.condition,)
        case s.If():
            return tuple(condition for condition, _ in statement.branches)
        case s.Assert():
            return (
                (statement.condition,)
                if statement.message is None
                else (
                    statement.condition,
                    statement.message,
                )
            )
        case s.Show():
            return (statement.call,)
        case s.Docstring():
            return ()
        case s.Function():
            return tuple(p.default for p in statement.parameters if p.default is not None)


def statements(statement: s.Statement) -> tuple[s.Statement, ...]:
    """The statements inside one, in order."""
    if isinstance(statement, s.For | s.While | s.Function):
        return statement.body
    if isinstance(statement, s.If):
        bodies = (*(body for _, body in statement.branches), statement.otherwise)
        return tuple(inner for body in bodies for inner in body)
    return ()


def _check(root: s.Expr) -> None:
    stack: list[tuple[s.Expr | s.Slice, int]] = [(root, 1)]
    while stack:
        expr, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise SyntaxProblem(
                f"this expression is nested more than {MAX_DEPTH} deep",
                expr.pos,
                "give a part of it a name",
            )
        chained = isinstance(expr, s.Binary) and isinstance(expr.left, s.Binary)
        for index, child in enumerate(children(expr)):
            stack.append((child, depth if chained and index == 0 else depth + 1))


def children(expr: s.Expr | s.Slice) -> Iterator[s.Expr | s.Slice]:
    """The expressions directly inside one, left to right."""
    match expr:
        case s.Unary():
            yield expr.operand
        case s.Binary():
            yield expr.left
            yield expr.right
        case s.Attribute():
            yield expr.value
        case s.Call():
            yield expr.function
            yield from expr.args
            yield from (keyword.value for keyword in expr.keywords)
        case s.Index():
            yield expr.value
            yield from expr.subscripts
        case s.Slice():
            yield from (part for part in (expr.start, expr.stop, expr.step) if part is not None)
        case s.Sequence():
            yield from expr.items
        case s.Starred():
            yield expr.value
        case s.Comprehension():
            yield expr.item
            yield expr.source
        case s.Record():
            yield from (entry.value for entry in expr.entries)
        case s.Choice():
            yield from (expr.condition, expr.yes, expr.no)
        case s.Lambda():
            yield expr.body
        case s.Name() | s.Number() | s.String() | s.Dots() | s.Evaluated():
            return
