"""Loops, choices and calls in the .shard language.

A loop that counts from 0 is `for i in range(N) carrying x:`, or `for w in ws carrying x:` where it only takes
the layers of stacks; any other is `while_loop(unfinished, step, …)` with functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, call, raw, several, tuple_of
from shardc.backend.loops import Carried, carried, moving_results
from shardc.backend.names import source_name
from shardc.backend.regions import block, carried_name
from shardc.backend.shard_body import ShardBody
from shardc.backend.shard_functions import region_function
from shardc.backend.shard_text import sizes
from shardc.backend.terms import Several, Term
from shardc.backend.usage import captured
from shardc.graph import Node, Region


def while_(body: Body, node: Node) -> Printed:
    loop = carried(body, node)
    counts = loop.counted is not None and loop.counted.start == 0 and loop.counter_dtype == "i32"
    if not counts:
        return _open_loop(body, node)
    if loop.moving:
        _for(cast(ShardBody, body), node, loop)
    else:
        body.done(node.operands)
    loop.leave(body, node)
    return None


def _open_loop(body: Body, node: Node) -> Printed:
    """while_loop(unfinished, step, (x, s)); what the regions read from outside is carried, too."""
    passed = [value for value in captured(node) if not body.terms[value].weak]
    test = region_function(body, node, 0, "unfinished", passed)
    step = region_function(body, node, 1, "step", passed)
    starts = [body.expr(value) for value in (*node.operands, *passed)]
    start = starts[0] if len(starts) == 1 else tuple_of(starts)
    expr = call("while_loop", test, step, start)
    if len(starts) == 1:
        return expr
    return _named(body, node, expr, extra=len(passed))


def _named(body: Body, node: Node, expr: Expr, extra: int) -> None:
    """x, s, _ = …: names for the results, and for what was passed besides."""
    body.done(node.operands)
    names: list[str] = []
    for value in node.results:
        names.append(body.fresh(value))
        body.bind(value, names[-1])
    for number in range(extra):
        names.append(body.names.fresh(f"unused{number}"))
    body.writer.statement(f"{', '.join(names)} = ", expr, body.notes(node.results))


# ---- for


def _for(body: ShardBody, node: Node, loop: Carried) -> None:
    assert loop.counted is not None
    region = node.regions[1]
    counter = region.args[loop.counted.index]
    layers = _layers(body, node, loop, counter)
    names = _start(body, node, loop)
    body.done([value for i, value in enumerate(node.operands) if i not in loop.moving])
    with block(body, node) as inner:
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
        with body.writer.indented(opening):
            _assign(inner, names, moving_results(inner, rest, loop))
    for i, name in zip(loop.moving, names, strict=True):
        body.bind(node.results[i], name)


def _target(inner: ShardBody, value: int, fallback: str) -> str:
    name = inner.names.fresh(source_name(inner.graph.values[value].loc) or fallback)
    inner.bind(value, name)
    return name


def _layers(body: Body, node: Node, loop: Carried, counter: int) -> list[Node]:
    """The nodes that take layer `counter` of a stack, if the counter is for nothing else."""
    assert loop.counted is not None
    region = node.regions[1]
    fixed = {region.args[i] for i in loop.passing} | set(captured(node))
    layers = [
        inner
        for inner in region.nodes
        if inner.name == "idiom.layer"
        and inner.operands[1] == counter
        and inner.operands[0] in fixed
        and body.type(inner.operands[0]).shape[0] == loop.counted.stop
    ]
    return layers if body.uses.count[counter] == len(layers) + 1 else []


def _start(body: ShardBody, node: Node, loop: Carried) -> list[str]:
    """The names that the loop carries; each has its first value."""
    inside = {value for value in captured(node)}
    names: list[str] = []
    for i in loop.moving:
        value = node.operands[i]
        wish = carried_name(body, node, node.regions[1].args[i]) or "carry"
        expr = body.expr(value)
        body.done([value])
        name = (
            wish if expr.text == wish and not _is_read(body, wish, value, inside) else body.names.fresh(wish)
        )
        if expr.text != name:
            body.writer.statement(f"{name} = ", expr)
        body.names.hold([name])
        names.append(name)
    return names


def _is_read(body: ShardBody, name: str, value: int, inside: set[int]) -> bool:
    """Whether somebody still reads the variable that a loop would change."""
    return value in inside or any(name in term.expr.reads for term in body.terms.values())


def _assign(inner: ShardBody, names: Sequence[str], exprs: Sequence[Expr]) -> None:
    """x, s = …, without what has its name already."""
    pairs = [(name, expr) for name, expr in zip(names, exprs, strict=True) if expr.text != name]
    if pairs:
        left = ", ".join(name for name, _ in pairs)
        inner.writer.statement(f"{left} = ", several([expr for _, expr in pairs]))


def layer(body: Body, node: Node) -> Expr:
    """One layer of a stack where no loop names it."""
    stack, start = node.operands
    shape = body.type(stack).shape
    zero = raw(f"{body.type(start).dtype}(0)")
    starts = [body.expr(start), *[zero] * (len(shape) - 1)]
    record = Expr("{slice_sizes=", (), f"{sizes((1, *shape[1:]))}}}")
    part = call("op", raw('"stablehlo.dynamic_slice"'), body.expr(stack), *starts, record)
    return call("reshape", part, sizes(shape[1:]))


# ---- choices and calls


def if_(body: Body, node: Node) -> Printed:
    return _choice(body, node, "cond", ("if_true", "if_false"))


def case(body: Body, node: Node) -> Printed:
    return _choice(body, node, "switch", ["branch"] * len(node.regions))


def _choice(body: Body, node: Node, name: str, wishes: Sequence[str]) -> Printed:
    passed = [value for value in captured(node) if not body.terms[value].weak]
    branches = [raw(region_function(body, node, i, wish, passed)) for i, wish in enumerate(wishes)]
    given = branches if name == "cond" else [tuple_of(branches)]
    expr = call(name, body.expr(node.operands[0]), *given, *(body.expr(value) for value in passed))
    return expr if len(node.results) == 1 else Several(expr)


def call_(body: Body, node: Node) -> Printed:
    name = body.context.functions[str(node.attrs["callee"])]
    expr = call(name, *(body.expr(value) for value in node.operands))
    return expr if len(node.results) == 1 else Several(expr)


TABLE: dict[str, Printer] = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
    "func.call": call_,
    "idiom.layer": layer,
}
