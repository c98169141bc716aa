"""Items of a tuple that one variable holds, and calls that pass many of them on.

outs = layer(x, *weights)
dx = backward(g, outs[3], outs[4], outs[5], outs[6])    ->    backward(g, *outs[3:7])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from shardc.backend.python.expressions import POSTFIX, Expr


class _Item(Struct, frozen=True):
    variable: str
    place: int
    size: int
    """How many items the tuple has."""


class Items:
    """The items of one Python scope, by their text."""

    def __init__(self) -> None:
        self._known: dict[str, _Item] = {}

    def item(self, variable: str, place: int, size: int) -> Expr:
        """The item at a place of a tuple of `size`."""
        text = f"{variable}[{place}]"
        self._known[text] = _Item(variable, place, size)
        return Expr(text, level=POSTFIX, reads=frozenset((variable,)))

    def starred(self, args: Sequence[Expr]) -> list[Expr]:
        """Arguments of a call; three items or more that follow each other become *outs[2:5]."""
        items = [self._known.get(arg.text) for arg in args]
        result: list[Expr] = []
        for run in _runs(items):
            item = items[run.start]
            if item is None or len(run) < 3:
                result += args[run.start : run.stop]
            else:
                result.append(_star(item, len(run)))
        return result


def _star(item: _Item, count: int) -> Expr:
    start, stop = item.place, item.place + count
    bounds = f"{start or ''}:{stop if stop < item.size else ''}"
    part = "" if bounds == ":" else f"[{bounds}]"
    return Expr(f"*{item.variable}{part}", reads=frozenset((item.variable,)))


def _runs(items: Sequence[_Item | None]) -> Iterator[range]:
    """Ranges of places whose items follow each other in one tuple; others are ranges of one place."""
    start = 0
    for place in range(1, len(items) + 1):
        before, here = items[place - 1], items[place] if place < len(items) else None
        follows = before and here and (before.variable, before.place + 1) == (here.variable, here.place)
        if not follows:
            yield range(start, place)
            start = place
