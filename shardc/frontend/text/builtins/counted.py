"""Loops of counted turns whose body is a function, as in jax.lax: fori_loop, scan; and tree_map."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.frontend.text.builtins.control import while_loop
from shardc.frontend.text.builtins.elementwise import compare
from shardc.frontend.text.builtins.operators import add
from shardc.frontend.text.carried import kept
from shardc.frontend.text.counted_loops import CountedLoop
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.stacks import COUNTER, Counted, Source, Stack
from shardc.frontend.text.trees import as_tensors, leaves, tensors_of
from shardc.frontend.text.values import FunctionName, Operand, RecordValue, Tensor, Value, describe


def fori_loop(e: Emitter, lower: Operand, upper: Operand, body_fun: FunctionName, init_val: Value) -> Value:
    """val = body_fun(i, val) for each i from lower to upper, exclusive. The bounds may be computed."""
    carried = _start(e, "fori_loop", init_val)
    if not isinstance(lower, int) or not isinstance(upper, int):
        return _open(e, [lower, upper], body_fun, carried)

    def turn(
        columns: Sequence[Value], outside: Sequence[Value], starts: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        value = _function(outside[0]).apply(columns[0], starts[0])
        return [kept(e, "val", value, carried)], []

    source = Source(max(upper - lower, 0), (Counted(lower, 1),))
    return CountedLoop(e, source, [body_fun], [carried], turn).run()[0]


def _open(e: Emitter, bounds: Sequence[Operand], body_fun: FunctionName, carried: Value) -> Value:
    """The same with bounds that are computed: a loop that runs until it has counted so far."""
    for name, bound in zip(("lower", "upper"), bounds, strict=True):
        if e.tensor(bound).type != COUNTER:
            raise e.error(f"fori_loop: {name} is {e.tensor(bound).type}, and should be i32[]")

    def more(place: Value, end: Value, _: Value) -> Value:
        assert isinstance(place, Tensor) and isinstance(end, Tensor)
        return compare("LT")(e, place, end)

    def over(captured: tuple[Value, ...]) -> FunctionName:
        def step(place: Value, end: Value, value: Value) -> Value:
            assert isinstance(place, Tensor)
            made = kept(e, "val", _function(captured[0]).apply(place, value), carried)
            return add(e, place, 1), end, made

        return FunctionName(body_fun.name, None, step, captured, over)

    start = (*(e.tensor(bound, "i32") for bound in bounds), carried)
    last = while_loop(e, FunctionName("fori_loop", None, more), over((body_fun,)), start)
    assert isinstance(last, tuple)
    return last[2]


def scan(
    e: Emitter,
    f: FunctionName,
    init: Value,
    xs: Value = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Value, ...]:
    """carry, y = f(carry, x) for each x of the stacks xs: the last carry, and all y stacked.

    xs is a tensor, or a tuple or record of tensors, which are cut along their first dimension; None with a
    length for none.
    """
    carried, stacks = _start(e, "scan", init), tensors_of(xs)
    if any(
        not isinstance(leaf, Tensor | None) or (isinstance(leaf, Tensor) and not leaf.rank)
        for leaf in leaves(xs)
    ):
        raise e.error(
            f"scan: xs is {describe(xs)}, and should be stacks", "None with a length= for no stacks"
        )
    layers = [t.shape[0] for t in stacks] + ([] if length is None else [length])
    counts = list(dict.fromkeys(layers))
    if len(counts) != 1 or counts[0] < 0:
        found = " and ".join(map(str, counts)) or "no"
        raise e.error(f"scan of {found} layers", "all stacks have as many layers as length= says")
    source = Source(counts[0], (Stack(xs, "xs", reverse),), reverse)

    def turn(
        columns: Sequence[Value], outside: Sequence[Value], starts: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        value = _function(outside[0]).apply(starts[0], columns[0])
        if not isinstance(value, tuple) or len(value) != 2:
            hint = "it returns the carry and what is stacked, None if nothing is"
            raise e.error(f"scan: {f.name} returns {describe(value)}", hint)
        return [kept(e, "the carry", value[0], carried)], [as_tensors(e, value[1])]

    counted = CountedLoop(e, source, [f], [carried], turn)
    return counted.run(counted.stacks())


def tree_map(e: Emitter, f: FunctionName, tree: Value, *rest: Value) -> Value:
    """f of each tensor of a tuple or record, and of those in the same places of others: jax.tree.map."""
    return _mapped(e, f, (tree, *rest))


def _mapped(e: Emitter, f: FunctionName, trees: tuple[Value, ...]) -> Value:
    first = trees[0]
    if isinstance(first, RecordValue):
        if any(not isinstance(one, RecordValue) or one.name != first.name for one in trees):
            raise e.error(f"tree_map of {' and '.join(map(describe, trees))}: they have other items")
        columns = [dict(one.fields) for one in trees if isinstance(one, RecordValue)]
        pairs = [(name, _mapped(e, f, tuple(one[name] for one in columns))) for name in columns[0]]
        return RecordValue(first.name, tuple(pairs))
    if isinstance(first, tuple):
        parts = [one for one in trees if isinstance(one, tuple) and len(one) == len(first)]
        if len(parts) < len(trees):
            raise e.error(f"tree_map of {' and '.join(map(describe, trees))}: they have other items")
        return tuple(_mapped(e, f, items) for items in zip(*parts, strict=True))
    return None if first is None else f.apply(*trees)


def _start(e: Emitter, name: str, init: Value) -> Value:
    if not all(isinstance(leaf, Operand) for leaf in leaves(init)):
        raise e.error(f"{name}: {describe(init)} is no value to start from")
    return as_tensors(e, init)


def _function(value: Value) -> FunctionName:
    assert isinstance(value, FunctionName)
    return value
