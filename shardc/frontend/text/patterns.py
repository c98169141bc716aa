"""The left side of an assignment: names side by side, or tuples in tuples.

a, (b, c) = …     ->     the targets a, b, c, nested as (0, (1, 2))
(a, b) = …        ->     the same as a, b = …
a, = …            ->     the target a, nested as (0,): one item; (a) = … is a = …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from shardc.frontend.text import syntax as s

Pattern: TypeAlias = "s.Target | tuple[Pattern, ...]"


def assignment(pattern: Pattern, value: s.Expr) -> s.Assign:
    """The assignment of a value to a pattern; at least one name is in it."""
    if isinstance(pattern, s.Target):
        return s.Assign(pattern.pos, (pattern,), value)
    targets: list[s.Target] = []
    nested = _numbered(pattern, targets)
    flat = len(nested) > 1 and all(isinstance(one, int) for one in nested)
    return s.Assign(targets[0].pos, tuple(targets), value, None if flat else nested)


def _numbered(patterns: Sequence[Pattern], targets: list[s.Target]) -> s.Nested:
    """The patterns by numbers, after those of the targets found so far, to which theirs are added."""
    found: list[int | s.Nested] = []
    for pattern in patterns:
        if isinstance(pattern, s.Target):
            found.append(len(targets))
            targets.append(pattern)
        else:
            found.append(_numbered(pattern, targets))
    return tuple(found)
