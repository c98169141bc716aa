"""The parser's callbacks for expressions: one method per rule of grammar/shard.lark."""

from __future__ import annotations

from cmath import isinf
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import pairwise
from typing import TypeVar, cast

from lark import Token, Transformer, v_args  # pyright: ignore[reportUnknownVariableType]

from shardc.frontend.text import syntax as s
from shardc.frontend.text.syntax import Pos, SyntaxProblem

_T = TypeVar("_T")

MAX_DIGITS = 400
"""How long a number may be written; longer ones are a mistake, and slow to read."""

reading: ContextVar[str | None] = ContextVar("shardc_reading", default=None)
"""The file of the text that is being parsed, if it is imported."""

Arguments = tuple[tuple[s.Expr, ...], tuple[s.Keyword, ...]]
"""Positional and keyword arguments."""


def pos_of(token: Token) -> Pos:
    """Where a token begins."""
    return Pos(token.line or 1, token.column or 1, reading.get())


def present(items: Sequence[_T | None]) -> tuple[_T, ...]:
    """The items that are written."""
    return tuple(item for item in items if item is not None)


def whole_number(text: str, token: Token | None = None) -> int:
    """The value of an INT token, or of a part of another token."""
    place = token or text
    if len(text) > MAX_DIGITS:
        assert isinstance(place, Token)
        raise SyntaxProblem(f"this number has more than {MAX_DIGITS} digits", pos_of(place))
    try:
        return int(text)
    except ValueError:
        assert isinstance(place, Token)
        raise SyntaxProblem(
            f"{text} is no number; an underscore stands between two digits", pos_of(place)
        ) from None


def inline(cls: type[_T]) -> type[_T]:
    """Callbacks get children as arguments."""
    return cast(Callable[[type[_T]], type[_T]], v_args(inline=True))(cls)


@inline
class ExpressionBuilder(Transformer[Token, s.Program]):
    """The callbacks of expressions."""

    def binary(self, left: s.Expr, op: Token, right: s.Expr) -> s.Binary:
        return s.Binary(left.pos, str(op), pos_of(op), left, right)

    def unary(self, op: Token, operand: s.Expr) -> s.Unary:
        return s.Unary(pos_of(op), str(op), operand)

    def attribute(self, value: s.Expr, name: Token) -> s.Attribute:
        return s.Attribute(pos_of(name), value, str(name))

    def call(self, function: s.Expr, arguments: Arguments | None) -> s.Call:
        args, keywords = arguments or ((), ())
        return s.Call(function.pos, function, args, keywords)

    def index(self, value: s.Expr, subscripts: tuple[s.Expr | s.Slice, ...]) -> s.Index:
        return s.Index(value.pos, value, subscripts)

    def name(self, token: Token) -> s.Name:
        return s.Name(pos_of(token), str(token))

    def number(self, token: Token) -> s.Number:
        if token.type == "INT":
            return s.Number(pos_of(token), whole_number(token))
        value = complex(token) if token.type == "IMAGINARY" else float(token)
        if isinf(value):
            raise SyntaxProblem(f"{token} is larger than f64 can hold", pos_of(token), "inf is infinity")
        return s.Number(pos_of(token), value)

    def string(self, token: Token) -> s.String:
        return s.String(pos_of(token), str(token)[1:-1])

    def dots(self, token: Token) -> s.Dots:
        return s.Dots(pos_of(token))

    def sequence(self, *items: s.Expr) -> s.Sequence:
        return s.Sequence(items[0].pos, items)

    def bracketed(self, bracket: Token, *items: s.Expr | None) -> s.Sequence:
        return s.Sequence(pos_of(bracket), present(items))

    def starred(self, star: Token, value: s.Expr) -> s.Starred:
        return s.Starred(pos_of(star), value)

    def comprehension(
        self, bracket: Token, item: s.Expr, targets: tuple[s.Target, ...], source: s.Expr
    ) -> s.Comprehension:
        return s.Comprehension(pos_of(bracket), item, targets, source)

    def record(self, bracket: Token, *entries: s.Keyword | None) -> s.Record:
        return s.Record(pos_of(bracket), present(entries))

    def arguments(self, *arguments: s.Expr | s.Keyword) -> Arguments:
        keywords = tuple(a for a in arguments if isinstance(a, s.Keyword))
        for before, after in pairwise(arguments):
            if isinstance(before, s.Keyword) and not isinstance(after, s.Keyword):
                raise SyntaxProblem("an argument without a name follows one with a name", after.pos)
        return tuple(a for a in arguments if not isinstance(a, s.Keyword)), keywords

    def positional(self, value: s.Expr) -> s.Expr:
        return value

    def keyword(self, name: Token, value: s.Expr) -> s.Keyword:
        return s.Keyword(pos_of(name), str(name), value)

    def subscripts(self, *subscripts: s.Expr | s.Slice) -> tuple[s.Expr | s.Slice, ...]:
        return subscripts

    def slicing(
        self, start: s.Expr | None, colon: Token, stop: s.Expr | None, step: s.Expr | None
    ) -> s.Slice:
        return s.Slice(pos_of(colon), start, stop, step)

    def choice(self, yes: s.Expr, word: Token, condition: s.Expr, no: s.Expr) -> s.Choice:
        return s.Choice(yes.pos, condition, yes, no)

    def lambda_function(self, word: Token, parameters: tuple[s.Target, ...] | None, body: s.Expr) -> s.Lambda:
        return s.Lambda(pos_of(word), parameters or (), body)
