"""Lists written as in Python: [(k, (k + 1) % 4) for k in range(4)], over numbers known while compiling."""

from __future__ import annotations

from shardc.frontend.text import syntax as s
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.turns import bound_to, turns
from shardc.frontend.text.values import Value


def comprehension(scope: Scope, expr: s.Comprehension) -> Value:
    """The items, one for each turn. Raises ShardcError."""
    if scope.listing:
        raise scope.e.error("a list in each item of a list", "write one of the two out", expr.pos)
    inner = scope.inner()
    inner.listing = True
    items: list[Value] = []
    for turn in turns(scope, expr.source):
        values = bound_to(scope, expr.targets, turn)
        for target, value in zip(expr.targets, values, strict=True):
            inner.assign(target.name, value, target.pos)
        items.append(inner.value(expr.item))
    return tuple(items)
