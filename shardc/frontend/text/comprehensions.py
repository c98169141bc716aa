"""Lists written as in Python: [(k, (k + 1) % 4) for k in range(4)], over numbers known while compiling."""

from __future__ import annotations

from shardc.frontend.text import syntax as s
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.values import Value, counted, describe

MAX_ITEMS = 1 << 16
"""How long a list may be: as many devices as a large mesh has."""


def comprehension(scope: Scope, expr: s.Comprehension) -> Value:
    """The items, one for each turn. Raises ShardcError."""
    if scope.listing:
        raise scope.e.error("a list in each item of a list", "write one of the two out", expr.pos)
    first, inner = expr.targets[0], scope.inner()
    inner.listing = True
    items: list[Value] = []
    for turn in _turns(scope, expr.source):
        values: tuple[Value, ...] = (turn,)
        if len(expr.targets) > 1 and isinstance(turn, tuple):
            values = turn
        if len(values) != len(expr.targets):
            have = counted(len(values), "value")
            raise scope.e.error(f"{len(expr.targets)} names for {have}", pos=first.pos)
        for target, value in zip(expr.targets, values, strict=True):
            inner.assign(target.name, value, target.pos)
        items.append(inner.value(expr.item))
    return tuple(items)


def _turns(scope: Scope, source: s.Expr) -> tuple[Value, ...]:
    """What the names stand for, one after the other: of range(…), or of a tuple."""
    if isinstance(source, s.Call) and isinstance(source.function, s.Name) and source.function.id == "range":
        return _range(scope, source)
    value = scope.value(source)
    if not isinstance(value, tuple):
        hint = "range(N) counts, and tuples have items; tensors are cut by x[k]"
        raise scope.e.error(
            f"a list is made from a range or a tuple, not from {describe(value)}", hint, source.pos
        )
    return value


def _range(scope: Scope, call: s.Call) -> tuple[Value, ...]:
    if not 1 <= len(call.args) <= 3 or call.keywords:
        raise scope.e.error("range takes a stop, or start and stop, and a step", pos=call.pos)
    numbers: list[int] = []
    for arg in call.args:
        number = scope.value(arg)
        if not isinstance(number, int) or isinstance(number, bool):
            raise scope.e.error(
                f"range takes whole numbers known while compiling, not {describe(number)}", pos=arg.pos
            )
        numbers.append(number)
    if len(numbers) == 3 and numbers[2] == 0:
        raise scope.e.error("the step of this range is 0", pos=call.args[2].pos)
    found = range(*numbers)
    if len(found[: MAX_ITEMS + 1]) > MAX_ITEMS:
        raise scope.e.error(f"a list of more than {MAX_ITEMS:,} items", pos=call.pos)
    return tuple(found)
