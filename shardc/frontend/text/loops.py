"""Loops over stacked layers, and counted ones, as stablehlo.while in the form of JAX's scan.

The loop carries, in this order: the stacks and the other values the body reads (unchanged), the counter
(i32, from 0), and the carried values. The body slices layer `counter` out of each stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.depth import children
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.values import Tensor, describe
from shardc.graph.types import TensorType

COUNTER = TensorType((), "i32")

Execute = Callable[[Scope, s.Statement], None]


def loop(scope: Scope, statement: s.For, execute: Execute) -> None:
    """Build a loop; afterwards the carried names have their last values."""
    if not statement.carrying:
        raise scope.e.error(
            "a loop without carrying computes nothing",
            "name what each turn hands to the next: for w in ws carrying x:",
            statement.pos,
        )
    _check_names(scope, statement)
    count, stacks = _stacks(scope, statement)
    carried = [_start(scope, target) for target in statement.carrying]
    names = [target.name for target in statement.carrying]
    last = carried
    if count or not stacks:  # a stack without layers has none to slice
        turn = _Turn(scope, statement, execute, count, len(stacks), carried, _outside(scope, statement))
        last = _loop(scope, statement, turn, stacks)
        scope.e.builder.name([result.value for result in last], names)
    _lose(scope, statement)
    for name, result in zip(names, last, strict=True):
        scope.bind(name, result)


def _loop(scope: Scope, statement: s.For, turn: _Turn, stacks: Sequence[Tensor]) -> list[Tensor]:
    """The while operation; what it carries, after the last turn."""
    with scope.e.at(statement.pos):
        counter = scope.e.splat(0, COUNTER)
        operands = [*stacks, *(tensor for _, tensor in turn.outside), counter, *turn.carried]
        types = [operand.type for operand in operands]
        regions = [(types, turn.condition), (types, turn.body)]
        results = scope.e.ops("stablehlo.while", *operands, results=types, regions=regions, weak=False)
    return results[turn.at + 1 :]


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn of a loop: `stacks` stacks, values from `outside`, the counter, and what is carried."""

    scope: Scope
    statement: s.For
    execute: Execute
    count: int
    stacks: int
    carried: list[Tensor]
    outside: list[tuple[str, Tensor]]

    @property
    def at(self) -> int:
        """Which argument is the counter."""
        return self.stacks + len(self.outside)

    def condition(self, *args: Tensor) -> list[Tensor]:
        e = self.scope.e
        return [comparison(e, args[self.at], e.splat(self.count, COUNTER), "LT")]

    def body(self, *args: Tensor) -> list[Tensor]:
        e, inner, counter = self.scope.e, self.scope.inner(), args[self.at]
        e.builder.name([arg.value for arg in args], self._names())
        for (name, old), arg in zip(self.outside, args[self.stacks : self.at], strict=True):
            inner.bind(name, replace(arg, weak=old.weak, sharding=old.sharding))
        layers = [_layer(self.scope, stack, counter) for stack in args[: self.stacks]] or [counter]
        for target, layer in zip(self.statement.targets, layers, strict=True):
            inner.bind(target.name, layer)
            e.builder.name([layer.value], [target.name])
        for target, arg in zip(self.statement.carrying, args[self.at + 1 :], strict=True):
            inner.bind(target.name, arg)
        for statement in self.statement.body:
            self.execute(inner, statement)
        pairs = zip(self.statement.carrying, self.carried, strict=True)
        results = [_carried(inner, target, start) for target, start in pairs]
        step = e.op("stablehlo.add", counter, e.splat(1, COUNTER))
        return [*args[: self.at], step, *results]

    def _names(self) -> list[str]:
        """What the arguments are called: as outside; the counter of a loop over stacks is i."""
        expr = self.statement.stacks
        exprs = (expr.items if isinstance(expr, s.Sequence) else (expr,))[: self.stacks]
        names = [one.id if isinstance(one, s.Name) else "stack" for one in exprs]
        names += [name for name, _ in self.outside]
        names.append("i" if self.stacks else self.statement.targets[0].name)
        return names + [target.name for target in self.statement.carrying]


def _check_names(scope: Scope, statement: s.For) -> None:
    names = [target.name for target in (*statement.targets, *statement.carrying)]
    for i, target in enumerate((*statement.targets, *statement.carrying)):
        if target.name in names[:i]:
            raise scope.e.error(f"{target.name} stands twice in this loop's header", pos=target.pos)
        scope.program.check_free(target.name, target.pos)


def _stacks(scope: Scope, statement: s.For) -> tuple[int, list[Tensor]]:
    """How many turns, and the stacks; none for range(N)."""
    e, expr = scope.e, statement.stacks
    if isinstance(expr, s.Call) and isinstance(expr.function, s.Name) and expr.function.id == "range":
        return _count(scope, statement, expr), []
    exprs = expr.items if isinstance(expr, s.Sequence) else (expr,)
    if len(exprs) != len(statement.targets):
        raise e.error(f"{len(statement.targets)} names for {len(exprs)} stacks", pos=statement.pos)
    stacks: list[Tensor] = []
    for one in exprs:
        stack = scope.value(one)
        if not isinstance(stack, Tensor) or stack.rank == 0:
            raise e.error(f"a loop runs over stacks of layers, not over {describe(stack)}", pos=one.pos)
        if stack.sharding is not None and stack.sharding.dims[0].axes:
            names = ", ".join(axis.name for axis in stack.sharding.dims[0].axes)
            raise e.error(
                f"this stack is split over {names} along its layer dimension",
                "each turn needs one layer on all devices: split another dimension of the stack",
                one.pos,
            )
        if stacks and stack.shape[0] != stacks[0].shape[0]:
            raise e.error(f"stacks of {stacks[0].shape[0]} and {stack.shape[0]} layers", pos=one.pos)
        stacks.append(stack)
    return stacks[0].shape[0], stacks


def _count(scope: Scope, statement: s.For, call: s.Call) -> int:
    e = scope.e
    if len(call.args) != 1 or call.keywords:
        raise e.error("range takes one number: range(N) counts from 0 to N - 1", pos=call.pos)
    if len(statement.targets) != 1:
        raise e.error(f"{len(statement.targets)} names for the counter of range", pos=statement.pos)
    count = scope.value(call.args[0])
    if not isinstance(count, int) or isinstance(count, bool):
        raise e.error(
            f"range takes a whole number known while compiling, not {describe(count)}", pos=call.args[0].pos
        )
    if not 0 <= count < 2**31:
        raise e.error(f"a loop of {count} turns", "the counter is an i32", pos=call.args[0].pos)
    return count


def _start(scope: Scope, target: s.Target) -> Tensor:
    """What a carried name is worth before the first turn."""
    if target.name not in scope.names:
        raise scope.e.error(
            f"{target.name} is carried and has no value before the loop", "assign it above", target.pos
        )
    value = scope.value(s.Name(target.pos, target.name))
    if not isinstance(value, Tensor | bool | int | float):
        raise scope.e.error(f"{target.name} is {describe(value)} and cannot be carried", pos=target.pos)
    with scope.e.at(target.pos):
        return scope.e.tensor(value)


def _layer(scope: Scope, stack: Tensor, counter: Tensor) -> Tensor:
    e = scope.e
    zero = [e.splat(0, COUNTER) for _ in stack.shape[1:]]
    layer = e.op(
        "stablehlo.dynamic_slice", stack, counter, *zero, slice_sizes=(1, *stack.shape[1:]), weak=False
    )
    return e.reshape(layer, stack.shape[1:])


def _carried(inner: Scope, target: s.Target, start: Tensor) -> Tensor:
    """The value at the end of a turn, which has the type it began with."""
    value = inner.value(s.Name(target.pos, target.name))
    if isinstance(value, bool | int | float):
        with inner.e.at(target.pos):
            value = inner.e.tensor(value)
    if not isinstance(value, Tensor):
        raise inner.e.error(f"{target.name} becomes {describe(value)} in the loop", pos=target.pos)
    if value.type != start.type and not (value.weak and value.shape == start.shape):
        hint = "carried values keep their type"
        if value.shape == start.shape:
            hint += f": start with {value.dtype}, or end with astype({target.name}, {start.dtype})"
        raise inner.e.error(
            f"{target.name} is {start.type} before the loop and {value.type} after a turn", hint, target.pos
        )
    return inner.e.cast(value, start.dtype)


def _outside(scope: Scope, statement: s.For) -> list[tuple[str, Tensor]]:
    """The tensors from outside that the body reads, in the order it first does."""
    bound = {target.name for target in (*statement.targets, *statement.carrying)}
    names = [name for name in dict.fromkeys(_reads(statement.body)) if name not in bound]
    return [(name, value) for name in names if isinstance(value := scope.names.get(name), Tensor)]


def _reads(body: tuple[s.Statement, ...]) -> list[str]:
    """Names that statements read before they assign them."""
    reads: list[str] = []
    assigned: set[str] = set()
    for statement in body:
        if isinstance(statement, s.For):
            inner = {target.name for target in statement.targets}
            found = _names(statement.stacks) + [target.name for target in statement.carrying]
            found += [name for name in _reads(statement.body) if name not in inner]
        else:
            found = _names(statement.value)
        reads += [name for name in found if name not in assigned]
        if isinstance(statement, s.Assign):
            assigned.update(target.name for target in statement.targets)
        elif isinstance(statement, s.For):
            assigned.update(target.name for target in statement.carrying)
    return reads


def _names(expr: s.Expr) -> list[str]:
    found: list[str] = []
    stack: list[s.Expr | s.Slice] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, s.Name):
            found.append(node.id)
        stack += reversed(list(children(node)))
    return found


def _lose(scope: Scope, statement: s.For) -> None:
    """Names that the body assigned and the loop does not carry mean nothing after it."""
    carried = {target.name for target in statement.carrying}
    gone = {target.name: target.pos for target in statement.targets}
    for inner in statement.body:
        targets = (
            inner.targets
            if isinstance(inner, s.Assign)
            else inner.carrying
            if isinstance(inner, s.For)
            else ()
        )
        gone.update((target.name, target.pos) for target in targets)
    for name, pos in gone.items():
        if name not in carried:
            scope.lost[name] = pos
