"""The parser's callbacks: one method per rule of grammar/shard.lark, building records of syntax.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar, cast

from lark import Token, Transformer, v_args  # pyright: ignore[reportUnknownVariableType]

from shardc.frontend.text import syntax as s
from shardc.frontend.text.syntax import Pos, SyntaxProblem

_T = TypeVar("_T")

MAX_DIGITS = 400
"""How long a number may be written; longer ones are a mistake, and slow to read."""


def pos_of(token: Token) -> Pos:
    """Where a token begins."""
    return Pos(token.line or 1, token.column or 1)


def _present(items: Sequence[_T | None]) -> tuple[_T, ...]:
    return tuple(item for item in items if item is not None)


def _inline(cls: type[_T]) -> type[_T]:
    """Callbacks get children as arguments."""
    return cast(Callable[[type[_T]], type[_T]], v_args(inline=True))(cls)


@_inline
class TreeBuilder(Transformer[Token, s.Program]):
    """Called bottom-up while parsing, so nothing here recurses."""

    # ---- meshes and sizes

    def start(self, *items: s.MeshDef | tuple[s.SizeDef, ...] | s.Function | Token) -> s.Program:
        return s.Program(
            "",
            tuple(item for item in items if isinstance(item, s.MeshDef)),
            tuple(size for item in items if type(item) is tuple for size in item),
            tuple(item for item in items if isinstance(item, s.Function)),
        )

    def mesh(
        self,
        name: Token,
        axes: tuple[tuple[str, s.Expr], ...] | None,
        devices: tuple[int, ...] | None,
        processes: int | None,
    ) -> s.MeshDef:
        return s.MeshDef(pos_of(name), str(name), axes or (), devices, processes)

    def axis_sizes(self, *axes: tuple[str, s.Expr]) -> tuple[tuple[str, s.Expr], ...]:
        return axes

    def axis_size(self, name: Token, size: s.Expr) -> tuple[str, s.Expr]:
        return str(name), size

    def device_order(self, *numbers: Token) -> tuple[int, ...]:
        return tuple(map(_int, numbers))

    def processes(self, number: Token) -> int:
        return _int(number)

    def sizes(self, *sizes: s.SizeDef) -> tuple[s.SizeDef, ...]:
        return sizes

    def size(self, name: Token, value: s.Expr) -> s.SizeDef:
        return s.SizeDef(pos_of(name), str(name), value)

    # ---- functions

    def function(
        self,
        decorator: s.Decorator | None,
        name: Token,
        parameters: tuple[s.Parameter, ...] | None,
        results: tuple[s.Type, ...] | None,
        body: tuple[s.Statement, ...],
    ) -> s.Function:
        return s.Function(pos_of(name), str(name), decorator, parameters or (), results, body)

    def decorator(self, at: Token, name: Token, arguments: _Arguments | None) -> s.Decorator:
        args, keywords = arguments or ((), ())
        return s.Decorator(pos_of(at), str(name), args, keywords)

    def parameters(self, *parameters: s.Parameter) -> tuple[s.Parameter, ...]:
        return parameters

    def parameter(self, name: Token, type: s.Type) -> s.Parameter:
        return s.Parameter(pos_of(name), str(name), type)

    def one_result(self, type: s.Type) -> tuple[s.Type, ...]:
        return (type,)

    def several_results(self, *types: s.Type) -> tuple[s.Type, ...]:
        return types

    def block(self, *statements: s.Statement) -> tuple[s.Statement, ...]:
        return statements

    def assign(self, *parts: s.Target | s.Expr) -> s.Assign:
        *targets, value = parts
        names = tuple(target for target in targets if isinstance(target, s.Target))
        assert not isinstance(value, s.Target)
        return s.Assign(names[0].pos, names, value)

    def target(self, name: Token, type: s.Type | None) -> s.Target:
        return s.Target(pos_of(name), str(name), type)

    def return_statement(self, value: s.Expr) -> s.Return:
        return s.Return(value.pos, value)

    def loop(
        self,
        names: tuple[s.Target, ...],
        stacks: s.Expr,
        carrying: tuple[s.Target, ...] | None,
        body: tuple[s.Statement, ...],
    ) -> s.For:
        return s.For(names[0].pos, names, stacks, carrying or (), body)

    def names(self, *names: Token) -> tuple[s.Target, ...]:
        return tuple(s.Target(pos_of(name), str(name)) for name in names)

    # ---- types

    def tensor_type(
        self, name: Token, dims: tuple[s.DimType, ...] | None, *suffixes: s.Replicated | s.Partial | s.On
    ) -> s.Type:
        return s.Type(pos_of(name), str(name), dims or (), suffixes)

    def dims(self, *dims: s.DimType) -> tuple[s.DimType, ...]:
        return dims

    def dim(self, size: s.Expr, split: _Split | None) -> s.DimType:
        if split is None:
            return s.DimType(size.pos, size)
        axes, open, priority = split
        return s.DimType(size.pos, size, True, axes, open, priority)

    def split(self, axes: tuple[s.AxisRef, ...], *marks: Token) -> _Split:
        open = any(mark.type == "OPEN" for mark in marks)
        priority = next((_int(mark[2:], mark) for mark in marks if mark.type == "PRIORITY"), None)
        return axes, open, priority

    def open_split(self, *marks: Token) -> _Split:
        return self.split((), *marks)

    def axis_list(self, *refs: s.AxisRef) -> tuple[s.AxisRef, ...]:
        return refs

    def axis_refs(self, refs: tuple[s.AxisRef, ...]) -> tuple[s.AxisRef, ...]:
        return refs

    def axis_ref(self, name: Token, pre: Token | None, size: Token | None) -> s.AxisRef:
        part = None if pre is None or size is None else (_int(pre), _int(size))
        return s.AxisRef(pos_of(name), str(name), part)

    def replicated(self, word: Token, axes: tuple[s.AxisRef, ...] | None) -> s.Replicated:
        return s.Replicated(pos_of(word), axes)

    def partial(self, word: Token, kind: Token, axes: tuple[s.AxisRef, ...]) -> s.Partial:
        return s.Partial(pos_of(word), str(kind), axes)

    def on(self, name: Token) -> s.On:
        return s.On(pos_of(name), str(name))

    # ---- expressions

    def binary(self, left: s.Expr, op: Token, right: s.Expr) -> s.Binary:
        return s.Binary(left.pos, str(op), pos_of(op), left, right)

    def unary(self, op: Token, operand: s.Expr) -> s.Unary:
        return s.Unary(pos_of(op), str(op), operand)

    def attribute(self, value: s.Expr, name: Token) -> s.Attribute:
        return s.Attribute(pos_of(name), value, str(name))

    def call(self, function: s.Expr, arguments: _Arguments | None) -> s.Call:
        args, keywords = arguments or ((), ())
        return s.Call(function.pos, function, args, keywords)

    def index(self, value: s.Expr, subscripts: tuple[s.Expr | s.Slice, ...]) -> s.Index:
        return s.Index(value.pos, value, subscripts)

    def name(self, token: Token) -> s.Name:
        return s.Name(pos_of(token), str(token))

    def number(self, token: Token) -> s.Number:
        return s.Number(pos_of(token), _int(token) if token.type == "INT" else float(token))

    def string(self, token: Token) -> s.String:
        return s.String(pos_of(token), str(token)[1:-1])

    def dots(self, token: Token) -> s.Dots:
        return s.Dots(pos_of(token))

    def sequence(self, *items: s.Expr) -> s.Sequence:
        return s.Sequence(items[0].pos, items)

    def bracketed(self, bracket: Token, *items: s.Expr | None) -> s.Sequence:
        return s.Sequence(pos_of(bracket), _present(items))

    def comprehension(
        self, bracket: Token, item: s.Expr, targets: tuple[s.Target, ...], source: s.Expr
    ) -> s.Comprehension:
        return s.Comprehension(pos_of(bracket), item, targets, source)

    def record(self, bracket: Token, *entries: s.Keyword | None) -> s.Record:
        return s.Record(pos_of(bracket), _present(entries))

    def arguments(self, *arguments: s.Expr | s.Keyword) -> _Arguments:
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


_Arguments = tuple[tuple[s.Expr, ...], tuple[s.Keyword, ...]]
_Split = tuple[tuple[s.AxisRef, ...], bool, int | None]


def _int(text: str, token: Token | None = None) -> int:
    place = token or text
    if len(text) > MAX_DIGITS:
        assert isinstance(place, Token)
        raise SyntaxProblem(f"this number has more than {MAX_DIGITS} digits", pos_of(place))
    return int(text)
