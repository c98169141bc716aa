"""Loops, choices and calls in the .shard language.

A loop that counts from 0 is `for i in range(N) carrying x:`, or `for w in ws carrying x:` where it only takes
the layers of stacks; any other is `while_loop(unfinished, step, …)` with functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, call, raw, several, tuple_of
from shardc.backend.python.loops import Carried, carried, moving_results
from shardc.backend.python.names import quoted, source_name
from shardc.backend.python.printers import Printed
from shardc.backend.python.regions import block, carried_name
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several, Term
from shardc.backend.shard.functions import region_function
from shardc.backend.shard.scope import ShardScope
from shardc.backend.shard.target import SHARD
from shardc.backend.shard.text import sizes
from shardc.graph import Node, Region, captured
from shardc.ops import func, hlo


@SHARD.prints(hlo.while_)
def while_(scope: Scope, node: Node) -> Printed:
    loop = carried(scope, node)
    counts = loop.counted is not None and loop.counted.start == 0 and loop.counter_dtype == "i32"
    if not counts:
        return _open_loop(scope, node)
    if loop.moving:
        _for(cast(ShardScope, scope), node, loop)
    else:
        scope.done(node.operands)
    loop.leave(scope, node)
    return None


def _open_loop(scope: Scope, node: Node) -> Printed:
    """while_loop(unfinished, step, (x, s)); what the regions read from outside is carried, too."""
    passed = [value for value in captured(node) if not scope.terms[value].weak]
    test = region_function(scope, node, 0, "unfinished", passed)
    step = region_function(scope, node, 1, "step", passed)
    starts = [scope.expr(value) for value in (*node.operands, *passed)]
    start = starts[0] if len(starts) == 1 else tuple_of(starts)
    expr = call("while_loop", test, step, start)
    if len(starts) == 1:
        return expr
    return _named(scope, node, expr, extra=len(passed))


def _named(scope: Scope, node: Node, expr: Expr, extra: int) -> None:
    """x, s, _ = …: names for the results, and for what was passed besides."""
    scope.done(node.operands)
    names: list[str] = []
    for value in node.results:
        names.append(scope.fresh(value))
        scope.bind(value, names[-1])
    for number in range(extra):
        names.append(scope.names.fresh(f"unused{number}"))
    scope.writer.statement(f"{', '.join(names)} = ", expr, scope.notes(node.results))


# ---- for


def _for(scope: ShardScope, node: Node, loop: Carried) -> None:
    assert loop.counted is not None
    region = node.regions[1]
    counter = region.args[loop.counted.index]
    layers = _layers(scope, node, loop, counter)
    names = _start(scope, node, loop)
    scope.done([value for i, value in enumerate(node.operands) if i not in loop.moving])
    with block(scope, node) as inner:
        for i, name in zip(loop.moving, names, strict=True):
            inner.bind(region.args[i], name)
        loop.enter(inner, region)
        if layers:
            inner.define(counter, Term(raw("0"), (), weak=True))
            targets = [_target(inner, layer.results[0], "layer") for layer in layers]
            over = [inner.expr(layer.operands[0]) for layer in layers]
        else:
            targets, over = [_target(inner, counter, "i")], [call("range", str(loop.counted.stop))]
        taken = {id(layer) for layer in layers}
        rest = Region(region.args, [n for n in region.nodes if id(n) not in taken])
        opening = f"for {', '.join(targets)} in {several(over)} carrying {', '.join(names)}:"
        with scope.writer.indented(opening):
            _assign(inner, names, moving_results(inner, rest, loop))
    for i, name in zip(loop.moving, names, strict=True):
        scope.bind(node.results[i], name)


def _target(inner: ShardScope, value: int, fallback: str) -> str:
    name = inner.names.fresh(source_name(inner.graph.values[value].loc) or fallback)
    inner.bind(value, name)
    return name


def _layers(scope: Scope, node: Node, loop: Carried, counter: int) -> list[Node]:
    """The nodes that take layer `counter` of a stack, if the counter is for nothing else."""
    assert loop.counted is not None
    region = node.regions[1]
    fixed = {region.args[i] for i in loop.passing} | set(captured(node))
    layers = [
        inner
        for inner in region.nodes
        if inner.name == idiom.layer.name
        and inner.operands[1] == counter
        and inner.operands[0] in fixed
        and inner.attrs["axis"] == 0
        and scope.type(inner.operands[0]).shape[0] == loop.counted.stop
    ]
    return layers if scope.uses.count[counter] == len(layers) + 1 else []


def _start(scope: ShardScope, node: Node, loop: Carried) -> list[str]:
    """The names that the loop carries; each has its first value."""
    inside = {value for value in captured(node)}
    names: list[str] = []
    for i in loop.moving:
        value = node.operands[i]
        wish = carried_name(scope, node, node.regions[1].args[i]) or "carry"
        expr = scope.expr(value)
        scope.done([value])
        name = (
            wish
            if expr.text == wish and not _is_read(scope, wish, value, inside)
            else scope.names.fresh(wish)
        )
        if expr.text != name:
            scope.writer.statement(f"{name} = ", expr)
        scope.names.hold([name])
        names.append(name)
    return names


def _is_read(scope: ShardScope, name: str, value: int, inside: set[int]) -> bool:
    """Whether somebody still reads the variable that a loop would change."""
    return value in inside or any(name in term.expr.reads for term in scope.terms.values())


def _assign(inner: ShardScope, names: Sequence[str], exprs: Sequence[Expr]) -> None:
    """x, s = …, without what has its name already."""
    pairs = [(name, expr) for name, expr in zip(names, exprs, strict=True) if expr.text != name]
    if pairs:
        left = ", ".join(name for name, _ in pairs)
        inner.writer.statement(f"{left} = ", several([expr for _, expr in pairs]))


@SHARD.prints(idiom.layer)
def layer(scope: Scope, node: Node) -> Expr:
    """One layer of a stack where no loop names it."""
    stack, start = node.operands
    shape, axis = scope.type(stack).shape, cast(int, node.attrs["axis"])
    zero = raw(f"{scope.type(start).dtype}(0)")
    starts = [scope.expr(start) if dim == axis else zero for dim in range(len(shape))]
    record = Expr("{slice_sizes=", (), f"{sizes((*shape[:axis], 1, *shape[axis + 1 :]))}}}")
    part = call("op", raw(quoted(hlo.dynamic_slice.name)), scope.expr(stack), *starts, record)
    return call("reshape", part, sizes(shape[:axis] + shape[axis + 1 :]))


# ---- choices and calls


@SHARD.prints(hlo.if_)
def if_(scope: Scope, node: Node) -> Printed:
    return _choice(scope, node, "cond", ("if_true", "if_false"))


@SHARD.prints(hlo.case)
def case(scope: Scope, node: Node) -> Printed:
    return _choice(scope, node, "switch", ["branch"] * len(node.regions))


def _choice(scope: Scope, node: Node, name: str, wishes: Sequence[str]) -> Printed:
    passed = [value for value in captured(node) if not scope.terms[value].weak]
    branches = [raw(region_function(scope, node, i, wish, passed)) for i, wish in enumerate(wishes)]
    given = branches if name == "cond" else [tuple_of(branches)]
    expr = call(name, scope.expr(node.operands[0]), *given, *(scope.expr(value) for value in passed))
    return expr if len(node.results) == 1 else Several(expr)


@SHARD.prints(func.call)
def call_(scope: Scope, node: Node) -> Printed:
    name = scope.emission.functions[str(node.attrs["callee"])]
    expr = call(name, *(scope.expr(value) for value in node.operands))
    return expr if len(node.results) == 1 else Several(expr)
