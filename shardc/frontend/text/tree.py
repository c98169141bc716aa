"""The parser's callbacks: one method per rule of grammar/shard.lark, building records of syntax.py."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeVar, cast

from lark import Token
from msgspec.structs import replace

from shardc.frontend.text import syntax as s
from shardc.frontend.text.patterns import Side, assignment, side_of
from shardc.frontend.text.syntax import SyntaxProblem
from shardc.frontend.text.tree_expressions import (
    Arguments,
    inline,
    pos_of,
    whole_number,
)
from shardc.frontend.text.tree_types import TypeBuilder

_T = TypeVar("_T")


@inline
class TreeBuilder(TypeBuilder):
    """Called bottom-up while parsing, so nothing here recurses."""

    def start(self, about: str | None, *items: object) -> s.Program:
        declared: list[object] = []
        for item in items:
            declared += cast(tuple[object, ...], item) if type(item) is tuple else (item,)

        def of(kind: type[_T]) -> tuple[_T, ...]:
            return tuple(item for item in declared if isinstance(item, kind))

        return s.Program(
            "",
            of(s.MeshDef),
            of(s.SizeDef),
            of(s.Function),
            of(s.ConstDef),
            of(s.RecordDef),
            of(s.Assert),
            of(s.Import),
            of(s.LogicalDef),
            about,
        )

    def about(self, token: Token) -> str:
        return self.docstring(token).text

    # ---- imports

    def import_file(self, path: Token, module: Token | None) -> s.Import:
        target = None if module is None else s.Target(pos_of(module), str(module))
        return s.Import(pos_of(path), str(path)[1:-1], target)

    def import_names(self, path: Token, *names: tuple[s.Target, s.Target]) -> s.Import:
        return s.Import(pos_of(path), str(path)[1:-1], None, names)

    def imported(self, name: Token, alias: Token | None) -> tuple[s.Target, s.Target]:
        own = s.Target(pos_of(name), str(name))
        return own, own if alias is None else s.Target(pos_of(alias), str(alias))

    def dotted(self, module: Token, name: Token) -> Token:
        return Token.new_borrow_pos(module.type, f"{module}.{name}", module)

    # ---- meshes and sizes

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
        return tuple(map(whole_number, numbers))

    def processes(self, number: Token) -> int:
        return whole_number(number)

    def sizes(self, *sizes: s.SizeDef) -> tuple[s.SizeDef, ...]:
        return sizes

    def size(self, name: Token, value: s.Expr) -> s.SizeDef:
        return s.SizeDef(pos_of(name), str(name), value)

    def logical(self, *declared: s.LogicalDef) -> tuple[s.LogicalDef, ...]:
        return declared

    def logical_axes(self, name: Token, axes: tuple[s.AxisRef, ...]) -> s.LogicalDef:
        return s.LogicalDef(pos_of(name), str(name), axes)

    def constants(self, *constants: s.ConstDef) -> tuple[s.ConstDef, ...]:
        return constants

    def constant(self, name: Token, value: s.Expr) -> s.ConstDef:
        return s.ConstDef(pos_of(name), str(name), value)

    def record_type(self, name: Token, about: str | None, *fields: s.Parameter) -> s.RecordDef:
        return s.RecordDef(pos_of(name), str(name), fields, about)

    def field(self, name: Token, type: s.AnyType) -> s.Parameter:
        return s.Parameter(pos_of(name), str(name), type)

    # ---- functions

    def function(
        self,
        decorators: tuple[s.Decorator, ...] | None,
        name: Token,
        parameters: tuple[s.Parameter, ...] | None,
        arrow: Token | None,
        results: tuple[s.AnyType, ...] | None,
        body: tuple[s.Statement, ...],
    ) -> s.Function:
        doc = body[0].text if isinstance(body[0], s.Docstring) else None
        body = body[doc is not None :]
        if not body:
            raise SyntaxProblem(f"function {name} has no statements", pos_of(name))
        every = decorators or ()
        places = [one for one in every if one.name not in s.RULES]
        if len(places) > 1:
            raise SyntaxProblem(f"@{places[0].name} and @{places[1].name} above one function", places[1].pos)
        rules = tuple(one for one in every if one.name in s.RULES)
        place = places[0] if places else None
        return s.Function(pos_of(name), str(name), place, parameters or (), results, body, doc, rules)

    def decorators(self, *decorators: s.Decorator) -> tuple[s.Decorator, ...]:
        return decorators

    def decorator(self, at: Token, name: Token, arguments: Arguments | None) -> s.Decorator:
        args, keywords = arguments or ((), ())
        return s.Decorator(pos_of(at), str(name), args, keywords)

    def parameters(self, *parameters: s.Parameter | Token) -> tuple[s.Parameter, ...]:
        found: list[s.Parameter] = []
        star: Token | None = None
        for parameter in parameters:
            if isinstance(parameter, s.Parameter):
                found.append(replace(parameter, named=star is not None))
            elif star is not None:
                raise SyntaxProblem("* stands twice among the parameters", pos_of(parameter))
            else:
                star = parameter
        for before, after in pairwise(found):
            if before.default is not None and after.default is None and not after.named:
                raise SyntaxProblem("a parameter without a default follows one with a default", after.pos)
        if star is not None and not any(parameter.named for parameter in found):
            raise SyntaxProblem("no parameter follows *", pos_of(star), "those after it are given by name")
        return tuple(found)

    def parameter(self, name: Token, type: s.AnyType | None, default: s.Expr | None) -> s.Parameter:
        return s.Parameter(pos_of(name), str(name), type, default)

    def named_type(self, name: Token) -> s.NamedType:
        return s.NamedType(pos_of(name), str(name))

    def tuple_type(self, *items: s.AnyType) -> s.TupleType:
        return s.TupleType(items[0].pos, items)

    def one_result(self, type: s.AnyType) -> tuple[s.AnyType, ...]:
        return (type,)

    def named_result(self, name: Token) -> tuple[s.AnyType, ...]:
        return (self.named_type(name),)

    def several_results(self, *types: s.AnyType) -> tuple[s.AnyType, ...]:
        return types

    def block(self, *statements: s.Statement) -> tuple[s.Statement, ...]:
        return statements

    def assign(self, first: Side, *values: s.Expr) -> s.Assign:
        *between, value = values
        return assignment((first, *map(side_of, between)), value)

    def several(self, *sides: Side) -> tuple[Side, ...]:
        return sides

    def nested(self, sides: tuple[Side, ...]) -> tuple[Side, ...]:
        return sides

    def grouped(self, side: Side) -> Side:
        return side

    def store(
        self, name: Token, bracket: Token, subscripts: tuple[s.Expr | s.Slice, ...], value: s.Expr
    ) -> s.Assign:
        """x[i] = v is x = x.at[i].set(v)."""
        return self._written(name, subscripts, "set", value)

    def _written(
        self, name: Token, subscripts: tuple[s.Expr | s.Slice, ...], how: str, value: s.Expr
    ) -> s.Assign:
        old = self.name(name)
        places = s.Index(old.pos, s.Attribute(old.pos, old, "at"), subscripts)
        new = s.Call(old.pos, s.Attribute(old.pos, places, how), (value,), ())
        return s.Assign(old.pos, (s.Target(old.pos, str(name)),), new)

    def augmented(self, name: Token, sign: Token, value: s.Expr) -> s.Assign:
        """x += v is x = x + v."""
        old = self.name(name)
        new = s.Binary(old.pos, str(sign)[:-1], pos_of(sign), old, value)
        return s.Assign(old.pos, (s.Target(old.pos, str(name)),), new)

    def augmented_store(
        self,
        name: Token,
        bracket: Token,
        subscripts: tuple[s.Expr | s.Slice, ...],
        sign: Token,
        value: s.Expr,
    ) -> s.Assign:
        """x[i] += v is x = x.at[i].add(v); others than += -= and *= have no update."""
        if str(sign) not in _UPDATES:
            known = ", ".join(_UPDATES)
            raise SyntaxProblem(f"x[i] {sign} v is no update; those are x[i] = v and {known}", pos_of(sign))
        value = s.Unary(value.pos, "-", value) if str(sign) == "-=" else value
        return self._written(name, subscripts, _UPDATES[str(sign)], value)

    def target(self, name: Token, type: s.AnyType | None) -> s.Target:
        return s.Target(pos_of(name), str(name), type)

    def rest_target(self, star: Token, name: Token) -> s.Target:
        return s.Target(pos_of(star), str(name), rest=True)

    def return_statement(self, value: s.Expr) -> s.Return:
        return s.Return(value.pos, value)

    def loop(
        self,
        names: tuple[s.Target, ...],
        stacks: s.Expr,
        carrying: tuple[s.Target, ...] | None,
        collecting: tuple[s.Target, ...] | None,
        body: tuple[s.Statement, ...],
    ) -> s.For:
        return s.For(names[0].pos, names, stacks, carrying or (), collecting or (), body)

    def while_loop(
        self,
        word: Token,
        condition: s.Expr,
        carrying: tuple[s.Target, ...] | None,
        body: tuple[s.Statement, ...],
    ) -> s.While:
        return s.While(pos_of(word), condition, carrying or (), body)

    def branch(self, word: Token, *parts: object) -> s.If:
        *branches, otherwise = cast(tuple[tuple[s.Expr, tuple[s.Statement, ...]], ...], parts)
        return s.If(pos_of(word), tuple(branches), cast(tuple[s.Statement, ...], otherwise or ()))

    def condition(
        self, value: s.Expr, body: tuple[s.Statement, ...]
    ) -> tuple[s.Expr, tuple[s.Statement, ...]]:
        return value, body

    def assertion(self, word: Token, condition: s.Expr, message: s.Expr | None) -> s.Assert:
        return s.Assert(pos_of(word), condition, message)

    def show(self, *parts: Token | Arguments | None) -> s.Show:
        *names, arguments = parts
        path = [name for name in names if isinstance(name, Token)]
        function: s.Expr = self.name(path[0])
        for name in path[1:]:
            function = s.Attribute(pos_of(name), function, str(name))
        args, keywords = cast("Arguments", arguments or ((), ()))
        return s.Show(function.pos, s.Call(function.pos, function, args, keywords))

    def docstring(self, token: Token) -> s.Docstring:
        quotes = 3 if token.type == "LONG_STRING" else 1
        return s.Docstring(pos_of(token), str(token)[quotes:-quotes])

    def names(self, *names: Token) -> tuple[s.Target, ...]:
        return tuple(s.Target(pos_of(name), str(name)) for name in names)


_UPDATES = {"+=": "add", "-=": "add", "*=": "multiply"}
"""What `x.at[i]` does for `x[i] += v`."""
