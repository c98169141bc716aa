"""Loops, branches and calls in NumPy: Python's own."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.backend.numpy.target import NUMPY
from shardc.backend.python.expressions import Expr, binary, call, name, raw, several
from shardc.backend.python.loops import Carried, carried, moving_results
from shardc.backend.python.printers import Printed
from shardc.backend.python.regions import block, carried_name, inner_scope, parameters, write_return
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several, Term
from shardc.backend.python.trace import Assign, Choice, Line, Loop
from shardc.graph import Node, Region, captured
from shardc.ops import func, hlo


def _assign(scope: Scope, variables: Sequence[str], exprs: Sequence[Expr], values: Sequence[int]) -> None:
    """x, s = …, leaving out what stays as it is. `values` are what the expressions stand for."""
    changed = [(v, e, i) for v, e, i in zip(variables, exprs, values, strict=True) if e.text != v]
    if changed:
        left = ", ".join(variable for variable, _, _ in changed)
        scope.writer.statement(f"{left} = ", several([expr for _, expr, _ in changed]))
        shapes = tuple(scope.type(i).shape for _, _, i in changed)
        scope.lines.append(Assign(tuple(v for v, _, _ in changed), tuple(i for _, _, i in changed), shapes))


@NUMPY.prints(hlo.while_)
def while_(scope: Scope, node: Node) -> Printed:
    loop = carried(scope, node)
    region = node.regions[1]
    starts = [scope.expr(node.operands[i]) for i in loop.moving]
    scope.done(node.operands)
    guard = [v for value in captured(node) if value in scope.terms for v in scope.terms[value].expr.reads]
    guard += loop.reads
    scope.names.hold(guard)
    variables = _variables(scope, node, [region.args[i] for i in loop.moving], "carry")
    _assign(scope, variables, starts, [node.operands[i] for i in loop.moving])
    opening, counter = _opening(scope, node, loop, variables)
    with scope.writer.indented(opening), block(scope, node) as inner:
        loop.enter(inner, region)
        if loop.counted is not None:
            inner.define(region.args[loop.counted.index], Term(name(counter), (), weak=True, free=True))
        scope.names.release(variables)
        for i, variable in zip(loop.moving, variables, strict=True):
            inner.bind(region.args[i], variable)
        _block(inner, region, variables, loop)
        scope.lines.append(Loop(node, loop.counted.trips if loop.counted else None, tuple(inner.lines)))
    scope.names.release(guard)
    loop.leave(scope, node)
    for i, variable in zip(loop.moving, variables, strict=True):
        scope.bind(node.results[i], variable)
    return None


def _variables(scope: Scope, node: Node, values: Sequence[int], fallback: str) -> list[str]:
    """A variable for each value, none of which may be given again before they are released."""
    variables: list[str] = []
    for value in values:
        variables.append(scope.names.fresh(carried_name(scope, node, value) or fallback))
        scope.names.hold([variables[-1]])
    return variables


def _block(inner: Scope, region: Region, variables: Sequence[str], loop: Carried) -> None:
    before = inner.writer.length
    results = [region.results[i] for i in loop.moving]
    _assign(inner, variables, moving_results(inner, region, loop), results)
    if inner.writer.length == before:
        inner.writer.line("pass")


def _opening(scope: Scope, node: Node, loop: Carried, variables: Sequence[str]) -> tuple[str, str]:
    """for i in range(4): or while unfinished(x):, and the counter's name."""
    if loop.counted is None:
        return f"while {_condition(scope, node, loop, variables)}:", ""
    body = node.regions[1]
    value, following = body.args[loop.counted.index], body.results[loop.counted.index]
    used = scope.uses.count.get(value, 0) > 1 or scope.uses.count.get(following, 0) > 1
    counter = scope.names.fresh(carried_name(scope, node, value) or "i") if used else "_"
    start, stop = loop.counted.start, loop.counted.stop
    return f"for {counter} in range({f'{start}, ' if start else ''}{stop}):", counter


def _condition(scope: Scope, node: Node, loop: Carried, variables: Sequence[str]) -> str:
    """def unfinished(x): …, and the call of it."""
    region = node.regions[0]
    function = scope.names.fresh("unfinished")
    scope.names.pin(function)
    args = [region.args[i] for i in loop.moving]
    params = parameters(scope, node, args, "carry", loop.reads)
    inner = inner_scope(scope, node, list(zip(args, params, strict=True)), loop.reads)
    loop.enter(inner, region)
    with scope.writer.inner_function(f"def {function}({', '.join(params)}):"):
        write_return(scope, inner.region(region))
    return f"{function}({', '.join(variables)})"


@NUMPY.prints(hlo.if_)
def if_(scope: Scope, node: Node) -> Printed:
    condition = scope.index(node.operands[0])
    return _branches(scope, node, [f"if {condition}:", "else:"])


@NUMPY.prints(hlo.case)
def case(scope: Scope, node: Node) -> Printed:
    """Indices outside the branches mean the last one."""
    choice = scope.variable(node.operands[0])
    tests = [binary("==", choice, raw(str(i))) for i in range(len(node.regions) - 1)]
    openings = [f"{'el' if i else ''}if {test}:" for i, test in enumerate(tests)]
    return _branches(scope, node, [*openings, "else:"] if openings else ["if True:"])


def _branches(scope: Scope, node: Node, openings: Sequence[str]) -> Printed:
    """Each branch assigns the same variables."""
    scope.done(node.operands)
    guard = [v for value in captured(node) if value in scope.terms for v in scope.terms[value].expr.reads]
    scope.names.hold(guard)
    variables = _variables(scope, node, node.results, "chosen")
    branches: list[tuple[Line, ...]] = []
    for opening, region in zip(openings, node.regions, strict=True):
        with scope.writer.indented(opening), block(scope, node) as inner:
            _assign(inner, variables, inner.region(region), region.results)
            branches.append(tuple(inner.lines))
    scope.lines.append(Choice(node, tuple(branches)))
    scope.names.release([*guard, *variables])
    for value, variable in zip(node.results, variables, strict=True):
        scope.bind(value, variable)
    return None


@NUMPY.prints(func.call)
def call_(scope: Scope, node: Node) -> Printed:
    callee = str(node.attrs["callee"])
    function = scope.emission.functions[callee]
    leading = [name(text) for text in scope.emission.leading_of(callee)]
    expr = call(function, *leading, *scope.items.starred([scope.expr(value) for value in node.operands]))
    return expr if len(node.results) == 1 else Several(expr)
