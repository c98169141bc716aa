"""The parser's callbacks for types: one method per rule of grammar/shard.lark."""

from __future__ import annotations

from lark import Token

from shardc.frontend.text import syntax as s
from shardc.frontend.text.tree_expressions import (
    Arguments,
    ExpressionBuilder,
    inline,
    pos_of,
    whole_number,
)

_Split = tuple[tuple[s.AxisRef, ...], bool, int | None]


@inline
class TypeBuilder(ExpressionBuilder):
    """The callbacks of types and what stands in them."""

    def tensor_type(
        self, name: Token, dims: tuple[s.DimType | s.Rest, ...] | None, *suffixes: s.Suffix
    ) -> s.Type:
        return s.Type(pos_of(name), str(name), dims or (), suffixes)

    def dims(self, *dims: s.DimType | s.Rest) -> tuple[s.DimType | s.Rest, ...]:
        return dims

    def rest(self, star: Token, name: Token) -> s.Rest:
        return s.Rest(pos_of(star), str(name))

    def dim(self, size: s.Expr, split: _Split | None) -> s.DimType:
        if split is None:
            return s.DimType(size.pos, size)
        axes, open, priority = split
        return s.DimType(size.pos, size, True, axes, open, priority)

    def split(self, axes: tuple[s.AxisRef, ...], *marks: Token) -> _Split:
        open = any(mark.type == "OPEN" for mark in marks)
        priority = next((whole_number(mark[2:], mark) for mark in marks if mark.type == "PRIORITY"), None)
        return axes, open, priority

    def open_split(self, *marks: Token) -> _Split:
        return self.split((), *marks)

    def axis_list(self, *refs: s.AxisRef) -> tuple[s.AxisRef, ...]:
        return refs

    def axis_refs(self, refs: tuple[s.AxisRef, ...]) -> tuple[s.AxisRef, ...]:
        return refs

    def axis_ref(self, name: Token, pre: Token | None, size: Token | None) -> s.AxisRef:
        part = None if pre is None or size is None else (whole_number(pre), whole_number(size))
        return s.AxisRef(pos_of(name), str(name), part)

    def replicated(self, word: Token, axes: tuple[s.AxisRef, ...] | None) -> s.Replicated:
        return s.Replicated(pos_of(word), axes)

    def partial(self, word: Token, kind: Token, axes: tuple[s.AxisRef, ...]) -> s.Partial:
        return s.Partial(pos_of(word), str(kind), axes)

    def on(self, name: Token) -> s.On:
        return s.On(pos_of(name), str(name))

    def notated(self, written: s.Expr) -> s.Notated:
        return s.Notated(written.pos, written)

    def notated_call(self, name: Token, arguments: Arguments | None) -> s.Notated:
        return s.Notated(pos_of(name), self.call(self.name(name), arguments))
