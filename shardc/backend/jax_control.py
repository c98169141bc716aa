"""Loops, branches and calls in JAX. Where check_vma wants equal types, `lax.pcast` makes them equal."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.backend.body import Body
from shardc.backend.casts import cast_to
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, call, list_of, name, raw, tuple_of
from shardc.backend.literals import typed
from shardc.backend.loops import Carried, carried, moving_results
from shardc.backend.regions import carried_name, inner_body, parameters, write_return
from shardc.backend.terms import Several
from shardc.graph import Node, Region
from shardc.graph.loops import Counted


def _casts(body: Body, exprs: Sequence[Expr], values: Sequence[int], like: Sequence[int]) -> list[Expr]:
    """Each expression, varying as the value in `like` does."""
    axes = [body.context.varying.get(value, frozenset[str]()) for value in like]
    return [cast_to(body, e, a, v) for e, a, v in zip(exprs, axes, values, strict=True)]


def while_(body: Body, node: Node) -> Printed:
    loop = carried(body, node)
    starts = [node.operands[i] for i in loop.moving]
    results = [node.results[i] for i in loop.moving]
    exprs = _casts(body, [body.expr(value) for value in starts], starts, results)
    step = body.names.fresh("step")
    body.names.pin(step)
    start = exprs[0] if len(exprs) == 1 else tuple_of(exprs)
    if loop.counted is not None:
        _function(body, node, node.regions[1], step, loop, results)
        bounds = (_bound(body, loop, loop.counted, n) for n in (loop.counted.start, loop.counted.stop))
        done = call("lax.fori_loop", *bounds, step, start)
    else:
        test = body.names.fresh("unfinished")
        body.names.pin(test)
        _function(body, node, node.regions[0], test, loop, None)
        _function(body, node, node.regions[1], step, loop, results)
        done = call("lax.while_loop", test, step, start)
    loop.leave(body, node)
    _assign(body, node, results, done)
    return None


def _bound(body: Body, loop: Carried, counted: Counted, value: int) -> Expr:
    """A loop bound, typed where a bare integer would count in another dtype."""
    literal = raw(str(value))
    if loop.counter_dtype == body.context.default_integer:
        return literal
    return typed(literal, loop.counter_dtype, body.target)


def _function(
    body: Body, node: Node, region: Region, function: str, loop: Carried, like: Sequence[int] | None
) -> None:
    """def step(i, carry): … or, with like=None, the condition, which returns one bool."""
    args = [region.args[i] for i in loop.moving]
    names = parameters(body, node, args, "carry", loop.reads)
    params = list(zip(args, names, strict=True))
    inner = inner_body(body, node, params, loop.reads)
    loop.enter(inner, region)
    leading: list[str] = []
    if loop.counted is not None:
        leading = [inner.names.fresh("i")]
        inner.bind(region.args[loop.counted.index], leading[0])
    packed = len(args) != 1
    carry = inner.names.fresh("carry") if packed else names[0]
    with body.writer.inner_function(f"def {function}({', '.join([*leading, carry])}):"):
        if packed and names:
            body.writer.line(f"{', '.join(names)} = {carry}")
        if like is None:
            write_return(body, inner.region(region))
            return
        results = moving_results(inner, region, loop)
        exprs = _casts(body, results, [region.results[i] for i in loop.moving], like)
        write_return(body, exprs)


def _assign(body: Body, node: Node, results: Sequence[int], done: Expr) -> None:
    """x, s = lax.fori_loop(…)"""
    body.done(node.operands)
    variables: list[str] = []
    for value in results:
        i = node.results.index(value)
        wish = carried_name(body, node, node.regions[-1].args[i]) or "carry"
        variables.append(body.names.fresh(wish))
        body.bind(value, variables[-1])
    left = ", ".join(variables) or "_"
    body.writer.statement(f"{left} = ", done, body.notes(results))


def if_(body: Body, node: Node) -> Printed:
    functions = [_branch(body, node, i, wish) for i, wish in enumerate(("if_true", "if_false"))]
    return _several(node, call("lax.cond", body.expr(node.operands[0]), *functions))


def case(body: Body, node: Node) -> Printed:
    """Indices outside the branches mean the last; lax.switch clamps, so negative ones need a word."""
    functions = [_branch(body, node, i, f"branch{i}") for i in range(len(node.regions))]
    choice = body.variable(node.operands[0])
    last = str(len(functions) - 1)
    bounded = call("jnp.where", raw(f"{choice} < 0", 1), last, choice)
    return _several(node, call("lax.switch", bounded, list_of([raw(f) for f in functions])))


def _branch(body: Body, node: Node, number: int, wish: str) -> str:
    function = body.names.fresh(wish)
    body.names.pin(function)
    inner = inner_body(body, node, [])
    region = node.regions[number]
    with body.writer.inner_function(f"def {function}():"):
        exprs = _casts(body, inner.region(region), region.results, node.results)
        write_return(body, exprs)
    return function


def call_(body: Body, node: Node) -> Printed:
    """A function of the program; what it takes varies alike in all calls."""
    callee = str(node.attrs["callee"])
    params = body.graph.functions[callee].body.args
    args = _casts(body, [body.expr(value) for value in node.operands], node.operands, params)
    leading = [name(text) for text in body.context.leading_of(callee)]
    return _several(node, call(body.context.functions[callee], *leading, *body.items.starred(args)))


def _several(node: Node, expr: Expr) -> Printed:
    return expr if len(node.results) == 1 else Several(expr)


TABLE: dict[str, Printer] = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
    "func.call": call_,
}
