"""Loops, branches and calls in NumPy: Python's own."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, binary, call, name, raw, several
from shardc.backend.loops import Carried, carried, moving_results
from shardc.backend.regions import block, carried_name, inner_body, parameters, write_return
from shardc.backend.terms import Several, Term
from shardc.backend.trace import Assign, Choice, Line, Loop
from shardc.backend.usage import captured
from shardc.graph import Node, Region


def _assign(body: Body, variables: Sequence[str], exprs: Sequence[Expr], values: Sequence[int]) -> None:
    """x, s = …, leaving out what stays as it is. `values` are what the expressions stand for."""
    changed = [(v, e, i) for v, e, i in zip(variables, exprs, values, strict=True) if e.text != v]
    if changed:
        left = ", ".join(variable for variable, _, _ in changed)
        body.writer.statement(f"{left} = ", several([expr for _, expr, _ in changed]))
        shapes = tuple(body.type(i).shape for _, _, i in changed)
        body.lines.append(Assign(tuple(v for v, _, _ in changed), tuple(i for _, _, i in changed), shapes))


def while_(body: Body, node: Node) -> Printed:
    loop = carried(body, node)
    region = node.regions[1]
    starts = [body.expr(node.operands[i]) for i in loop.moving]
    body.done(node.operands)
    guard = [v for value in captured(node) if value in body.terms for v in body.terms[value].expr.reads]
    guard += loop.reads
    body.names.hold(guard)
    variables = _variables(body, node, [region.args[i] for i in loop.moving], "carry")
    _assign(body, variables, starts, [node.operands[i] for i in loop.moving])
    opening, counter = _opening(body, node, loop, variables)
    with body.writer.indented(opening), block(body, node) as inner:
        loop.enter(inner, region)
        if loop.counted is not None:
            inner.define(region.args[loop.counted.index], Term(name(counter), (), weak=True, free=True))
        body.names.release(variables)
        for i, variable in zip(loop.moving, variables, strict=True):
            inner.bind(region.args[i], variable)
        _block(inner, region, variables, loop)
        body.lines.append(Loop(node, loop.counted.trips if loop.counted else None, tuple(inner.lines)))
    body.names.release(guard)
    loop.leave(body, node)
    for i, variable in zip(loop.moving, variables, strict=True):
        body.bind(node.results[i], variable)
    return None


def _variables(body: Body, node: Node, values: Sequence[int], fallback: str) -> list[str]:
    """A variable for each value, none of which may be given again before they are released."""
    variables: list[str] = []
    for value in values:
        variables.append(body.names.fresh(carried_name(body, node, value) or fallback))
        body.names.hold([variables[-1]])
    return variables


def _block(inner: Body, region: Region, variables: Sequence[str], loop: Carried) -> None:
    before = inner.writer.length
    results = [region.results[i] for i in loop.moving]
    _assign(inner, variables, moving_results(inner, region, loop), results)
    if inner.writer.length == before:
        inner.writer.line("pass")


def _opening(body: Body, node: Node, loop: Carried, variables: Sequence[str]) -> tuple[str, str]:
    """for i in range(4): or while unfinished(x):, and the counter's name."""
    if loop.counted is None:
        return f"while {_condition(body, node, loop, variables)}:", ""
    used = body.uses.count.get(node.regions[1].args[loop.counted.index], 0) > 1
    counter = body.names.fresh("i") if used else "_"
    start, stop = loop.counted.start, loop.counted.stop
    return f"for {counter} in range({f'{start}, ' if start else ''}{stop}):", counter


def _condition(body: Body, node: Node, loop: Carried, variables: Sequence[str]) -> str:
    """def unfinished(x): …, and the call of it."""
    region = node.regions[0]
    function = body.names.fresh("unfinished")
    body.names.pin(function)
    args = [region.args[i] for i in loop.moving]
    params = parameters(body, node, args, "carry", loop.reads)
    inner = inner_body(body, node, list(zip(args, params, strict=True)), loop.reads)
    loop.enter(inner, region)
    with body.writer.inner_function(f"def {function}({', '.join(params)}):"):
        write_return(body, inner.region(region))
    return f"{function}({', '.join(variables)})"


def if_(body: Body, node: Node) -> Printed:
    condition = body.index(node.operands[0])
    return _branches(body, node, [f"if {condition}:", "else:"])


def case(body: Body, node: Node) -> Printed:
    """Indices outside the branches mean the last one."""
    choice = body.variable(node.operands[0])
    tests = [binary("==", choice, raw(str(i))) for i in range(len(node.regions) - 1)]
    openings = [f"{'el' if i else ''}if {test}:" for i, test in enumerate(tests)]
    return _branches(body, node, [*openings, "else:"] if openings else ["if True:"])


def _branches(body: Body, node: Node, openings: Sequence[str]) -> Printed:
    """Each branch assigns the same variables."""
    body.done(node.operands)
    guard = [v for value in captured(node) if value in body.terms for v in body.terms[value].expr.reads]
    body.names.hold(guard)
    variables = _variables(body, node, node.results, "chosen")
    branches: list[tuple[Line, ...]] = []
    for opening, region in zip(openings, node.regions, strict=True):
        with body.writer.indented(opening), block(body, node) as inner:
            _assign(inner, variables, inner.region(region), region.results)
            branches.append(tuple(inner.lines))
    body.lines.append(Choice(node, tuple(branches)))
    body.names.release([*guard, *variables])
    for value, variable in zip(node.results, variables, strict=True):
        body.bind(value, variable)
    return None


def call_(body: Body, node: Node) -> Printed:
    callee = str(node.attrs["callee"])
    function = body.context.functions[callee]
    leading = [name(text) for text in body.context.leading_of(callee)]
    expr = call(function, *leading, *body.items.starred([body.expr(value) for value in node.operands]))
    return expr if len(node.results) == 1 else Several(expr)


TABLE: dict[str, Printer] = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
    "func.call": call_,
}
