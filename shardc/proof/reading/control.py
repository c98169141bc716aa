"""Loops and branches of an emitted text as calls, so that running the text once notes them whole.

    for i in range(4):                 def body(i, x):
        x = f(x, i)             ->         x = f(x, i)
                                           return (x,)
                                       (x,) = loop(range(4), body, (x,))

A loop carries the variables that it assigns and that it, or what follows, reads before they are assigned
again; they have values before it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from shardc.graph import TensorType
from shardc.ops import hlo
from shardc.proof.reading.recorded import Recorded, Recorder
from shardc.proof.reading.regions import applied
from shardc.proof.values import Beyond

LOOP, UNTIL, CHOICE = "loop!", "while!", "if!"
"""Names that no text can have."""

Names = list[str]


def as_calls(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with its loops and branches as calls, without `del`, `print` and decorators."""
    before = {argument.arg for argument in function.args.args}
    body = _block(function.body, before, set())
    return _defined(function.name, function.args, body)


def _block(statements: Sequence[ast.stmt], before: set[str], after: set[str]) -> list[ast.stmt]:
    """Statements anew. before: variables that have a value; after: those that are read later."""
    made: list[ast.stmt] = []
    known = set(before)
    statements = [statement for statement in statements if not _prints(statement)]
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.FunctionDef):
            made.append(as_calls(statement))
        elif isinstance(statement, ast.For | ast.While):
            made += _loop(statement, known, after | _read_first(statements[place + 1 :]))
        elif isinstance(statement, ast.If):
            made += _choice(statement, known, after | _read_first(statements[place + 1 :]))
        elif not isinstance(statement, ast.Delete):
            made.append(statement)
        known.update(_assigned([statement]))
    return made


def _prints(statement: ast.stmt) -> bool:
    """Whether all that a statement does is to print, which changes no result."""
    if isinstance(statement, ast.If):
        return not statement.orelse and all(map(_prints, statement.body))
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"


def _loop(loop: ast.For | ast.While, before: set[str], later: set[str]) -> list[ast.stmt]:
    again = _read_first(loop.body) | _tested(loop)
    carried = [name for name in _assigned(loop.body) if name in before and name in again | later]
    reads = later | again
    if isinstance(loop, ast.For):
        assert isinstance(loop.target, ast.Name)
        counter = loop.target.id
        inner = _block(loop.body, before | {counter}, reads)
        return [_function("body!", [counter, *carried], inner, carried), _call(LOOP, loop.iter, carried)]
    inner = _block(loop.body, before, reads)
    test = _defined("test!", _arguments(carried), [ast.Return(loop.test)])
    given = ast.Name("test!", ast.Load())
    return [test, _function("body!", carried, inner, carried), _call(UNTIL, given, carried)]


def _choice(choice: ast.If, before: set[str], later: set[str]) -> list[ast.stmt]:
    """Each branch takes all that either assigns, as far as it has a value, and gives what is read later."""
    names = _assigned([*choice.body, *choice.orelse])
    taken, given = [n for n in names if n in before], [n for n in names if n in later]
    branches = [
        _function(name, taken, _block(body, before, later), given)
        for name, body in (("then!", choice.body), ("else!", choice.orelse))
    ]
    functions = ast.Tuple([ast.Name(f.name, ast.Load()) for f in branches], ast.Load())
    value = ast.Call(ast.Name(CHOICE, ast.Load()), [choice.test, functions, _tuple(taken, ast.Load())], [])
    return [*branches, ast.Assign([_tuple(given, ast.Store())], value)]


def _function(name: str, parameters: Names, body: list[ast.stmt], results: Names) -> ast.FunctionDef:
    returned = ast.Return(_tuple(results, ast.Load()))
    return _defined(name, _arguments(parameters), [*body, returned])


def _defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function without decorators; Python's versions differ in which fields one is made of."""
    (function,) = ast.parse("def f(): ...").body
    assert isinstance(function, ast.FunctionDef)
    function.name, function.args, function.body = name, arguments, body
    return function


def _tested(loop: ast.For | ast.While) -> set[str]:
    return _read([loop.test]) if isinstance(loop, ast.While) else set[str]()


def _call(name: str, given: ast.expr, carried: Names) -> ast.stmt:
    arguments: list[ast.expr] = [given, ast.Name("body!", ast.Load()), _tuple(carried, ast.Load())]
    value = ast.Call(ast.Name(name, ast.Load()), arguments, [])
    return ast.Assign([_tuple(carried, ast.Store())], value)


def _arguments(names: Names) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def _tuple(names: Names, context: ast.expr_context) -> ast.Tuple:
    return ast.Tuple([ast.Name(name, context) for name in names], context)


def _assigned(statements: Iterable[ast.stmt]) -> Names:
    """The variables that statements assign, in order; not those of functions in them."""
    found: dict[str, None] = {}
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = None
        elif isinstance(statement, ast.For | ast.While | ast.If):
            found |= dict.fromkeys(_assigned([*statement.body, *statement.orelse]))
        else:
            names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            found |= dict.fromkeys(name.id for name in names if isinstance(name.ctx, ast.Store))
    return list(found)


def _read(statements: Iterable[ast.AST]) -> set[str]:
    names = (node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _read_first(statements: Sequence[ast.stmt]) -> set[str]:
    """The variables that may be read before they are assigned; what a loop or branch assigns may be not."""
    found, assigned = set[str](), set[str]()
    for statement in statements:
        found |= _read([statement]) - assigned
        if isinstance(statement, ast.Assign):
            assigned.update(_assigned([statement]))
    return found


def calls(recorder: Recorder) -> dict[str, Callable[..., Any]]:
    """What the calls run."""

    def loop(numbers: range, body: Callable[..., Any], carried: tuple[Recorded, ...]) -> Any:
        def test(i: Recorded, *_: Recorded) -> Recorded:
            return i < numbers.stop

        def step(i: Recorded, *values: Recorded) -> tuple[Recorded, ...]:
            recorder.bounds[i.value] = (numbers.start, numbers.stop - 1)
            return (i + 1, *body(i, *values))

        start = recorder.constant(numbers.start, "i32")
        return until(test, step, (start, *carried))[1:]

    def until(test: Callable[..., Any], body: Callable[..., Any], carried: tuple[Recorded, ...]) -> Any:
        types = [_type(value) for value in carried]
        regions = [applied(recorder, types, lambda *values: [test(*values)]), applied(recorder, types, body)]
        return tuple(recorder.op(hlo.while_, *carried, results=types, regions=regions))

    def choice(test: Any, branches: Sequence[Callable[..., Any]], given: tuple[Any, ...]) -> Any:
        if isinstance(test, bool):
            return branches[not test](*given)
        types: list[TensorType] = []

        def run(branch: Callable[..., Any]) -> Callable[[], list[Recorded]]:
            def results() -> list[Recorded]:
                found = list(branch(*given))
                types[:] = [_type(value) for value in found]
                return found

            return results

        regions = [applied(recorder, (), run(branch)) for branch in branches]
        return tuple(recorder.op(hlo.if_, test, results=types, regions=regions))

    return {LOOP: loop, UNTIL: until, CHOICE: choice}


def _type(value: object) -> TensorType:
    if not isinstance(value, Recorded):
        raise Beyond("numbers of Python that a loop or branch carries")
    return value.type
