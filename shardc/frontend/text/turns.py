"""What lists and unrolled loops run over, known while compiling: range, tuples, enumerate, zip, reversed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.places import index
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.values import RecordValue, Tensor, Value, describe, plural

MAX_ITEMS = 1 << 16
"""How long a list may be: as many devices as a large mesh has."""


def turns(scope: Scope, source: s.Expr) -> tuple[Value, ...]:
    """What the names stand for, one turn after the other. Raises ShardcError."""
    if isinstance(source, s.Call) and (name := maker(source)):
        return _MAKERS[name](scope, source)
    return items(scope, scope.value(source), source.pos)


def items(scope: Scope, value: Value, pos: s.Pos) -> tuple[Value, ...]:
    """The items of a tuple or record."""
    if isinstance(value, RecordValue):
        return tuple(item for _, item in value.fields)
    if not isinstance(value, tuple):
        hint = "range(N) counts, and tuples have items; tensors are cut by x[k]"
        raise scope.e.error(f"a list is made from a range or a tuple, not from {describe(value)}", hint, pos)
    return value


def spread(scope: Scope, items: Sequence[s.Expr]) -> tuple[s.Expr, ...]:
    """The items of a tuple or of a call's arguments, those of `*each` in its place."""
    found: list[s.Expr] = []
    for item in items:
        if isinstance(item, s.Starred):
            pos = item.value.pos
            found += [s.Evaluated(pos, value) for value in _all(scope, item.value)]
        else:
            found.append(item)
    return tuple(found)


def _all(scope: Scope, source: s.Expr) -> tuple[Value, ...]:
    if isinstance(source, s.Call) and maker(source):
        return turns(scope, source)
    value = scope.value(source)
    return rows(scope, value, source.pos) if isinstance(value, Tensor) else items(scope, value, source.pos)


def rows(scope: Scope, value: Tensor, pos: s.Pos) -> tuple[Value, ...]:
    """The rows of a tensor; one without dimensions has none."""
    if not value.rank or value.shape[0] > MAX_ITEMS:
        what = f"more than {MAX_ITEMS:,} rows" if value.rank else "no rows"
        raise scope.e.error(f"{describe(value)} has {what}", pos=pos)
    with scope.e.at(pos):
        return tuple(index(scope.e, value, (i,)) for i in range(value.shape[0]))


def maker(source: s.Call) -> str | None:
    """range, enumerate, zip or reversed, if the call is of one of them."""
    name = source.function.id if isinstance(source.function, s.Name) else None
    return name if name in _MAKERS else None


def bound_to(scope: Scope, targets: Sequence[s.Target], turn: Value) -> tuple[Value, ...]:
    """One value for each name; nested tuples are unpacked as far as there are names."""
    if len(targets) == 1:
        return (turn,)
    values = turn if isinstance(turn, tuple) else (turn,)
    while len(values) < len(targets) and isinstance(values[-1], tuple):
        values = (*values[:-1], *values[-1])
    if len(values) != len(targets):
        have = plural(len(values), "value")
        raise scope.e.error(f"{len(targets)} names for {have}", pos=targets[0].pos)
    return values


def range_of(scope: Scope, call: s.Call) -> range:
    """range(…) of numbers known while compiling, as Python's."""
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
    return range(*numbers)


def _range(scope: Scope, call: s.Call) -> tuple[Value, ...]:
    found = range_of(scope, call)
    if len(found[: MAX_ITEMS + 1]) > MAX_ITEMS:
        raise scope.e.error(f"a list of more than {MAX_ITEMS:,} items", pos=call.pos)
    return tuple(found)


def _enumerate(scope: Scope, call: s.Call) -> tuple[Value, ...]:
    return tuple(enumerate(turns(scope, one_argument(scope, call))))


def _reversed(scope: Scope, call: s.Call) -> tuple[Value, ...]:
    return turns(scope, one_argument(scope, call))[::-1]


def _zip(scope: Scope, call: s.Call) -> tuple[Value, ...]:
    if not call.args or call.keywords:
        raise scope.e.error("zip takes what it runs over", pos=call.pos)
    columns = [turns(scope, arg) for arg in call.args]
    if len({len(column) for column in columns}) > 1:
        lengths = " and ".join(str(len(column)) for column in columns)
        raise scope.e.error(f"zip of {lengths} items", pos=call.pos)
    return tuple(zip(*columns, strict=True))


def one_argument(scope: Scope, call: s.Call) -> s.Expr:
    """What enumerate and reversed run over."""
    if len(call.args) != 1 or call.keywords:
        raise scope.e.error(f"{maker(call)} takes what it runs over, and nothing else", pos=call.pos)
    return call.args[0]


_MAKERS: dict[str, Callable[[Scope, s.Call], tuple[Value, ...]]] = {
    "range": _range,
    "enumerate": _enumerate,
    "reversed": _reversed,
    "zip": _zip,
}
