"""Loops, branches and calls in JAX. Where check_vma wants equal types, `lax.pcast` makes them equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shardc.analysis.loops import Counted
from shardc.backend.jax.casts import axes_missing, cast_over
from shardc.backend.jax.target import JAX
from shardc.backend.python.expressions import Expr, call, list_of, name, raw, tuple_of
from shardc.backend.python.literals import typed
from shardc.backend.python.loops import Carried, carried, moving_results
from shardc.backend.python.names import source_name
from shardc.backend.python.printers import Printed
from shardc.backend.python.ranges import bounds
from shardc.backend.python.regions import carried_name, inner_scope, parameters, write_return
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several
from shardc.graph import Node, Region
from shardc.ops import func, hlo

_SHORT = 20
"""What has more characters and is used twice is a variable."""


def _casts(scope: Scope, exprs: Sequence[Expr], values: Sequence[int], like: Sequence[int]) -> list[Expr]:
    """Each expression, varying as the value in `like` does."""
    axes = [axes_missing(scope, value, other) for value, other in zip(values, like, strict=True)]
    return [cast_over(scope, expr, over) for expr, over in zip(exprs, axes, strict=True)]


@JAX.prints(hlo.while_)
def while_(scope: Scope, node: Node) -> Printed:
    loop = carried(scope, node)
    starts = [node.operands[i] for i in loop.moving]
    results = [node.results[i] for i in loop.moving]
    start = _start(scope, starts, results)
    step = scope.names.fresh("step")
    scope.names.pin(step)
    if loop.counted is not None:
        _function(scope, node, node.regions[1], step, loop, results)
        bounds = (_bound(scope, loop, loop.counted, n) for n in (loop.counted.start, loop.counted.stop))
        done = call("lax.fori_loop", *bounds, step, start)
    else:
        test = scope.names.fresh("unfinished")
        scope.names.pin(test)
        _function(scope, node, node.regions[0], test, loop, None)
        _function(scope, node, node.regions[1], step, loop, results)
        done = call("lax.while_loop", test, step, start)
    loop.leave(scope, node)
    _assign(scope, node, results, done)
    return None


def _start(scope: Scope, starts: Sequence[int], like: Sequence[int]) -> Expr:
    """What a loop begins with, cast as a whole where all of it is cast alike."""
    exprs = [scope.expr(value) for value in starts]
    missing = {axes_missing(scope, value, other) for value, other in zip(starts, like, strict=True)}
    if len(exprs) > 1 and len(missing) == 1:
        return cast_over(scope, tuple_of(_made_once(scope, exprs)), missing.pop())
    exprs = _made_once(scope, _casts(scope, exprs, starts, like))
    return exprs[0] if len(exprs) == 1 else tuple_of(exprs)


def _made_once(scope: Scope, exprs: Sequence[Expr]) -> list[Expr]:
    """What a loop begins with, where several equal arrays are one variable; before its functions, which may
    use other variables.
    """
    often = Counter(expr.text for expr in exprs if expr.items and len(expr.text) > _SHORT)
    made: dict[str, Expr] = {}
    for expr in exprs:
        if often[expr.text] > 1 and expr.text not in made:
            variable = scope.names.fresh("zeros" if "jnp.zeros(" in expr.text else "start")
            scope.names.pin(variable)
            scope.writer.statement(f"{variable} = ", expr)
            made[expr.text] = name(variable)
    return [made.get(expr.text, expr) for expr in exprs]


def _bound(scope: Scope, loop: Carried, counted: Counted, value: int) -> Expr:
    """A loop bound, typed where a bare integer would count in another dtype."""
    literal = raw(str(value))
    if loop.counter_dtype == scope.emission.default_integer:
        return literal
    return typed(literal, loop.counter_dtype, scope.target)


def _function(
    scope: Scope, node: Node, region: Region, function: str, loop: Carried, like: Sequence[int] | None
) -> None:
    """def step(i, carry): … or, with like=None, the condition, which returns one bool."""
    args = [region.args[i] for i in loop.moving]
    names = parameters(scope, node, args, "carry", loop.reads)
    params = list(zip(args, names, strict=True))
    inner = inner_scope(scope, node, params, loop.reads)
    loop.enter(inner, region)
    leading: list[str] = []
    if loop.counted is not None:
        counter = region.args[loop.counted.index]
        leading = [inner.names.fresh(carried_name(scope, node, counter) or "i")]
        inner.bind(counter, leading[0])
    packed = len(args) != 1
    carry = inner.names.fresh("carry") if packed else names[0]
    with scope.writer.inner_function(f"def {function}({', '.join([*leading, carry])}):"):
        if packed and names:
            scope.writer.statement(f"{', '.join(names)} = ", raw(carry))
        if like is None:
            write_return(scope, inner.region(region))
            return
        results = moving_results(inner, region, loop)
        exprs = _casts(scope, results, [region.results[i] for i in loop.moving], like)
        write_return(scope, exprs)


def _assign(scope: Scope, node: Node, results: Sequence[int], done: Expr) -> None:
    """x, s = lax.fori_loop(…)"""
    scope.done(node.operands)
    variables: list[str] = []
    for value in results:
        i = node.results.index(value)
        own = source_name(scope.graph.values[value].loc)
        wish = own or carried_name(scope, node, node.regions[-1].args[i]) or "carry"
        variables.append(scope.names.fresh(wish))
        scope.bind(value, variables[-1])
    left = ", ".join(variables) or "_"
    scope.writer.statement(f"{left} = ", done, scope.notes(results))


@JAX.prints(hlo.if_)
def if_(scope: Scope, node: Node) -> Printed:
    functions = [_branch(scope, node, i, wish) for i, wish in enumerate(("if_true", "if_false"))]
    return _several(node, call("lax.cond", scope.expr(node.operands[0]), *functions))


@JAX.prints(hlo.case)
def case(scope: Scope, node: Node) -> Printed:
    """Indices outside the branches mean the last; lax.switch clamps, so negative ones need a word."""
    (index,), last = node.operands, str(len(node.regions) - 1)
    functions = [_branch(scope, node, i, f"branch{i}") for i in range(len(node.regions))]
    found = bounds(index, scope.emission.made, {})
    if found is not None and found[0] >= 0:
        chosen = scope.expr(index)
    else:
        variable = scope.variable(index)
        chosen = call("jnp.where", raw(f"{variable} < 0", 1), last, variable)
    return _several(node, call("lax.switch", chosen, list_of([raw(f) for f in functions])))


def _branch(scope: Scope, node: Node, number: int, wish: str) -> str:
    function = scope.names.fresh(wish)
    scope.names.pin(function)
    inner = inner_scope(scope, node, [])
    region = node.regions[number]
    with scope.writer.inner_function(f"def {function}():"):
        exprs = _casts(scope, inner.region(region), region.results, node.results)
        write_return(scope, exprs)
    return function


@JAX.prints(func.call)
def call_(scope: Scope, node: Node) -> Printed:
    """A function of the program; what it takes varies alike in all calls."""
    callee = str(node.attrs["callee"])
    params = scope.graph.functions[callee].body.args
    args = _casts(scope, [scope.expr(value) for value in node.operands], node.operands, params)
    leading = [name(text) for text in scope.emission.leading_of(callee)]
    return _several(node, call(scope.emission.functions[callee], *leading, *scope.items.starred(args)))


def _several(node: Node, expr: Expr) -> Printed:
    return expr if len(node.results) == 1 else Several(expr)
