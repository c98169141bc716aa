"""The left sides of an assignment: names side by side, or tuples in tuples.

a, (b, c) = …     ->     the targets a, b, c, with the pattern (0, (1, 2))
(a, b) = …        ->     the same as a, b = …
a, = …            ->     the target a, with the pattern (0,): one item; (a) = … is a = …
a = b = …         ->     the targets a, b, with the patterns 0 and 1
a, *b = …         ->     the targets a and b, of which b takes the rest
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from shardc.frontend.text import syntax as s
from shardc.frontend.text.syntax import SyntaxProblem

Side: TypeAlias = "s.Target | tuple[Side, ...]"
"""What stands left of an equals sign."""


def assignment(sides: Sequence[Side], value: s.Expr) -> s.Assign:
    """The assignment of a value to each side; at least one name is in it. Raises SyntaxProblem."""
    targets: list[s.Target] = []
    patterns = tuple(_numbered(side, targets) for side in sides)
    for side in sides:
        if isinstance(side, s.Target) and side.rest:
            hint = f"{side.name}, = … unpacks one item, and {side.name}, *others = … the rest too"
            raise SyntaxProblem(f"*{side.name} stands alone", side.pos, hint)
    return s.Assign(targets[0].pos, tuple(targets), value, patterns)


def side_of(expr: s.Expr) -> Side:
    """The side that `b` is in `a = b = …`, which is read as an expression. Raises SyntaxProblem."""
    match expr:
        case s.Name():
            return s.Target(expr.pos, expr.id)
        case s.Starred() if isinstance(expr.value, s.Name):
            return s.Target(expr.pos, expr.value.id, rest=True)
        case s.Sequence() if expr.items:
            return tuple(map(side_of, expr.items))
        case s.Index() | s.Attribute():
            hint = "what is written into stands alone: x[0] = v, which makes a new x"
            raise SyntaxProblem("this takes no value between two equals signs", expr.pos, hint)
        case _:
            hint = "names stand between two equals signs: a = b = …; == compares"
            raise SyntaxProblem("this takes no value", expr.pos, hint)


def _numbered(side: Side, targets: list[s.Target]) -> s.Pattern:
    """A side by the numbers of its targets, which are added to those found so far."""
    if isinstance(side, s.Target):
        targets.append(side)
        return len(targets) - 1
    rests = [one for one in side if isinstance(one, s.Target) and one.rest]
    if len(rests) > 1:
        raise SyntaxProblem("two names take the rest", rests[1].pos, "one has a star: a, *b, c = …")
    return tuple(_numbered(one, targets) for one in side)
