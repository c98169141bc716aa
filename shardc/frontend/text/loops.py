"""Loops as stablehlo.while in the form of JAX's scan; those over what is known while compiling are unrolled.

The loop carries, in this order: the stacks and the other values the body reads (unchanged), the counter
(i32, from 0), the carried values, and the stacks that it collects. The body slices layer `counter` out of
each stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.carried import lose, outside, start, value_after, written, yielded
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.stacks import COUNTER, Counted, Source, source_of, spread
from shardc.frontend.text.trees import names_of, rebuilt, tensors_of
from shardc.frontend.text.turns import bound_to, turns
from shardc.frontend.text.values import Tensor, Value, plural
from shardc.ops import hlo

MAX_UNROLLED = 4096
"""How many turns are unrolled at most."""

Execute = Callable[[Scope, s.Statement], s.Return | None]


def loop(scope: Scope, statement: s.For, execute: Execute) -> None:
    """Build a loop; afterwards the carried names have their last values, the collected ones their stacks."""
    _check_names(scope, statement)
    if not statement.carrying and not statement.collecting:
        _unroll(scope, statement, execute)
        return
    source = source_of(scope, statement.stacks)
    if source is None:
        if statement.collecting:
            hint = "a list collects what is known: [x * k for k in range(3)]"
            raise scope.e.error("a loop collects over stacks or a range", hint, statement.stacks.pos)
        _unroll(scope, statement, execute)
        lose(scope, statement)
        return
    source = spread(scope, source, len(statement.targets))
    if len(source.columns) != len(statement.targets):
        stacks = len(source.stacks)
        what = plural(stacks, "stack") if stacks == len(source.columns) else "the counter of range"
        if stacks and stacks < len(source.columns):
            what = f"a counter and {plural(stacks, 'stack')}"
        raise scope.e.error(f"{plural(len(statement.targets), 'name')} for {what}", pos=statement.pos)
    carried = [start(scope, target) for target in statement.carrying]
    names = [target.name for target in statement.carrying]
    turn = _Turn(scope, statement, execute, source, carried, outside(scope, statement))
    collected = turn.collected() if statement.collecting else []
    last: list[Value] = [*carried, *collected]
    if source.count or not source.stacks:  # a stack without layers has none to slice
        last = _loop(scope, turn, collected)
    lose(scope, statement)
    names += [target.name for target in statement.collecting]
    for name, value in zip(names, last, strict=True):
        scope.e.builder.name([tensor.value for tensor in tensors_of(value)], names_of(value, name))
        scope.bind(name, value)


def _unroll(scope: Scope, statement: s.For, execute: Execute) -> None:
    """The body once for each turn, with the names as numbers, or whatever they are."""
    if not isinstance(statement.stacks, s.Call) and isinstance(scope.value(statement.stacks), Tensor):
        raise scope.e.error(
            "a loop without carrying computes nothing",
            "name what each turn hands to the next: for w in ws carrying x:",
            statement.pos,
        )
    found = turns(scope, statement.stacks)
    if len(found) > MAX_UNROLLED:
        hint = "with carrying it stays a loop: for i in range(N) carrying x:"
        raise scope.e.error(f"a loop of {len(found)} turns cannot be unrolled", hint, statement.stacks.pos)
    for turn in found:
        values = bound_to(scope, statement.targets, turn)
        for target, value in zip(statement.targets, values, strict=True):
            scope.bind(target.name, value)
            place = scope.program.file, target.pos.line, target.pos.col
            scope.program.shared.turns.setdefault(place, []).append(value)
        run_turn(scope, statement, execute)


def run_turn(scope: Scope, statement: s.For | s.While, execute: Execute) -> None:
    """Build a loop's body once."""
    for inner in statement.body:
        returned = execute(scope, inner)
        if returned is not None:
            raise scope.e.error("return stands at the end of a function only", pos=returned.value.pos)


def _loop(scope: Scope, turn: _Turn, collected: list[Value]) -> list[Value]:
    """The while operation; what it carries and collects, after the last turn."""
    with scope.e.at(turn.statement.pos):
        counter = scope.e.splat(0, COUNTER)
        trees = [*turn.carried, *collected]
        operands = [*turn.fixed(), counter, *(tensor for tree in trees for tensor in tensors_of(tree))]
        types = [operand.type for operand in operands]
        names = [
            name
            for target, value in zip(turn.statement.collecting, collected, strict=True)
            for name in names_of(value, target.name)
        ]
        regions = [(types, turn.condition), (types, partial(turn.body, names))]
        results = scope.e.ops(hlo.while_.name, *operands, results=types, regions=regions, weak=False)
    last = rebuilt(tuple(trees), results[turn.at + 1 :])
    assert isinstance(last, tuple)
    return list(last)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn of a loop: its stacks, values from `outside`, the counter, and what is carried."""

    scope: Scope
    statement: s.For
    execute: Execute
    source: Source
    carried: list[Value]
    outside: list[tuple[str, Value]]

    def fixed(self) -> list[Tensor]:
        """What is the same in all turns: the stacks, and what the body reads from outside."""
        return [*self.source.tensors(), *(t for _, value in self.outside for t in tensors_of(value))]

    @property
    def at(self) -> int:
        """Which argument is the counter."""
        return len(self.fixed())

    def condition(self, *args: Tensor) -> list[Tensor]:
        e = self.scope.e
        return [comparison(e, args[self.at], e.splat(self.source.count, COUNTER), "LT")]

    def body(self, collected: list[str], *args: Tensor) -> list[Tensor]:
        e, counter = self.scope.e, args[self.at]
        e.builder.name([arg.value for arg in args], self._names() + collected)
        results, made = self._results(args)
        stacks = args[self.at + 1 + len(results) :]
        filled = [
            written(e, stack, self._place(counter), one) for stack, one in zip(stacks, made, strict=True)
        ]
        step = e.op(hlo.add.name, counter, e.splat(1, COUNTER))
        return [*args[: self.at], step, *results, *filled]

    def collected(self) -> list[Value]:
        """The empty stacks that the loop fills; what one turn yields is found by building it for nothing."""
        e, made = self.scope.e, list[Value]()
        types = [*(t.type for t in self.fixed()), COUNTER]
        types += [tensor.type for value in self.carried for tensor in tensors_of(value)]

        def body(*args: Tensor) -> list[Tensor]:
            made.extend(self._turn(args)[1])
            return list(args)

        e.trial(types, body)
        with e.at(self.statement.collecting[0].pos):
            return [
                rebuilt(
                    v, [e.splat(0, t.type.with_shape((self.source.count, *t.shape))) for t in tensors_of(v)]
                )
                for v in made
            ]

    def _results(self, args: tuple[Tensor, ...]) -> tuple[list[Tensor], list[Tensor]]:
        carried, made = self._turn(args)
        return (
            [tensor for value in carried for tensor in tensors_of(value)],
            [tensor for value in made for tensor in tensors_of(value)],
        )

    def _turn(self, args: tuple[Tensor, ...]) -> tuple[list[Value], list[Value]]:
        """The carried values after a turn, and those that it yields."""
        e, inner, counter = self.scope.e, self.scope.inner(), args[self.at]
        stacks = len(self.source.tensors())
        rest = list(args[stacks : self.at])
        for name, old in self.outside:
            tensors = [replace(rest.pop(0), weak=t.weak, sharding=t.sharding) for t in tensors_of(old)]
            inner.bind(name, rebuilt(old, tensors))
        values = self.source.turn(e, counter, args[:stacks])
        for target, value in zip(self.statement.targets, values, strict=True):
            inner.bind(target.name, value)
            e.builder.name([t.value for t in tensors_of(value)], names_of(value, target.name))
        starts = rebuilt(tuple(self.carried), args[self.at + 1 :])
        assert isinstance(starts, tuple)
        for target, value in zip(self.statement.carrying, starts, strict=True):
            inner.bind(target.name, value)
        run_turn(inner, self.statement, self.execute)
        pairs = zip(self.statement.carrying, self.carried, strict=True)
        results = [value_after(inner, target, old) for target, old in pairs]
        return results, [yielded(inner, target) for target in self.statement.collecting]

    def _place(self, counter: Tensor) -> Tensor:
        """Where what a turn yields is written: beside what it was made of, as JAX's scan does."""
        if not self.source.backwards:
            return counter
        e = self.scope.e
        return e.op(hlo.subtract.name, e.splat(self.source.count - 1, COUNTER), counter)

    def _names(self) -> list[str]:
        """What the arguments are called: as outside; the counter of a loop over stacks is i."""
        names = self.source.names() + [n for name, value in self.outside for n in names_of(value, name)]
        first = self.source.columns[0] if self.source.columns else None
        plain = isinstance(first, Counted) and (first.start, first.step) == (0, 1)
        names.append(self.statement.targets[0].name if plain else "i")
        for target, value in zip(self.statement.carrying, self.carried, strict=True):
            names += names_of(value, target.name)
        return names


def _check_names(scope: Scope, statement: s.For) -> None:
    check_header(scope, (*statement.targets, *statement.carrying, *statement.collecting))


def check_header(scope: Scope, targets: Sequence[s.Target]) -> None:
    """An error if a name stands twice in a loop's header, or is none of a value."""
    names = [target.name for target in targets]
    for i, target in enumerate(targets):
        if target.name in names[:i]:
            raise scope.e.error(f"{target.name} stands twice in this loop's header", pos=target.pos)
        scope.program.check_free(target.name, target.pos)
