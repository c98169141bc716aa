"""Which names statements read and assign: what a loop has to hand to its turns, and what is lost after it."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.frontend.text import syntax as s
from shardc.frontend.text.depth import children, expressions, statements
from shardc.frontend.text.syntax import Pos


def names_in(expr: s.Expr) -> list[str]:
    """All names of an expression, left to right."""
    found: list[str] = []
    stack: list[s.Expr | s.Slice] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, s.Name):
            found.append(node.id)
        stack += reversed(list(children(node)))
    return found


def reads(body: Sequence[s.Statement]) -> list[str]:
    """Names that statements read before they assign them, and perhaps others that they assign."""
    found: list[str] = []
    assigned: set[str] = set()
    for statement in body:
        names = [name for expr in expressions(statement) for name in names_in(expr)]
        if isinstance(statement, s.Function):
            names += free_names(statement)
        elif isinstance(statement, s.For):
            inner = {target.name for target in statement.targets}
            names += [target.name for target in statement.carrying]
            names += [name for name in reads(statement.body) if name not in inner]
        else:
            if isinstance(statement, s.While):
                names += [target.name for target in statement.carrying]
            names += reads(statements(statement))
        found += [name for name in names if name not in assigned]
        if isinstance(statement, s.Assign):
            assigned.update(target.name for target in statement.targets)
        elif isinstance(statement, s.Function):
            assigned.add(statement.name)
        elif isinstance(statement, s.While):
            assigned.update(target.name for target in statement.carrying)
        elif isinstance(statement, s.For):
            assigned.update(target.name for target in (*statement.carrying, *statement.collecting))
    return found


def free_names(function: s.Function) -> list[str]:
    """Names that a function's body reads before it assigns them, and that are no parameters."""
    own = {parameter.name for parameter in function.parameters}
    return [name for name in reads(function.body) if name not in own]


def assigned_in(body: Sequence[s.Statement]) -> dict[str, Pos]:
    """Names that statements give a value that can be used after them, with the place."""
    found: dict[str, Pos] = {}
    for statement in body:
        if isinstance(statement, s.Assign):
            found.update((target.name, target.pos) for target in statement.targets)
        elif isinstance(statement, s.While):
            found.update((target.name, target.pos) for target in statement.carrying)
        elif isinstance(statement, s.For) and (statement.carrying or statement.collecting):
            targets = (*statement.carrying, *statement.collecting)
            found.update((target.name, target.pos) for target in targets)
        elif isinstance(statement, s.Function):
            found[statement.name] = statement.pos
        else:
            found.update(assigned_in(statements(statement)))
    return found
