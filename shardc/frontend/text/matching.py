"""Which argument of a call is which parameter's, of functions of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from shardc.diagnostics import did_you_mean
from shardc.frontend.text import syntax as s
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import Value, plural

_T = TypeVar("_T")


def matched(
    e: Emitter,
    function: s.Function,
    args: Sequence[_T],
    named: Sequence[tuple[str, _T, Pos | None]],
    pos: Pos | None = None,
) -> dict[str, _T]:
    """The arguments by parameter, without defaults.

    ShardcError for too many, too few and unknown ones, at the places of the named arguments and of the call.
    """
    name = function.name
    names = [parameter.name for parameter in function.parameters]
    free = [parameter.name for parameter in function.parameters if not parameter.named]
    if len(args) > len(free):
        hint = f"those after {free[-1]} are given by name" if free and len(free) < len(names) else None
        takes = plural(len(free), "argument") + (" without a name" if hint else "")
        raise e.error(f"{name} takes {takes}, and is given {len(args)}", hint, pos)
    given: dict[str, _T] = dict(zip(free, args, strict=False))
    for keyword, value, place in named:
        if keyword not in names:
            raise e.error(f"{name} has no parameter {keyword}", did_you_mean(keyword, names), place)
        if keyword in given:
            raise e.error(f"{name}: {keyword} is given twice", pos=place)
        given[keyword] = value
    required = [parameter.name for parameter in function.parameters if parameter.default is None]
    missing = [parameter for parameter in required if parameter not in given]
    if missing:
        raise e.error(f"{name} is called without {', '.join(missing)}", pos=pos)
    return given


def filled(
    e: Emitter,
    function: s.Function,
    args: Sequence[Value],
    named: Mapping[str, Value],
    default: Callable[[s.Expr], Value],
) -> list[Value]:
    """One value for each parameter; `default` evaluates those that are not given."""
    given = matched(e, function, args, [(name, value, None) for name, value in named.items()])
    return [
        default(p.default) if p.default is not None and p.name not in given else given[p.name]
        for p in function.parameters
    ]
