"""The for statement: loops of the compiled program, and unrolled ones over what is known while compiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.frontend.text import syntax as s
from shardc.frontend.text.carried import lose, outside, start, value_after, yielded
from shardc.frontend.text.counted_loops import CountedLoop
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.stacks import Counted, Source, source_of, spread
from shardc.frontend.text.trees import names_of, tensors_of
from shardc.frontend.text.turns import bound_to, turns
from shardc.frontend.text.values import Tensor, Value, plural

MAX_UNROLLED = 4096
"""How many turns of a loop are unrolled at most."""

MAX_TURNS = 4 * MAX_UNROLLED
"""How many turns of an unrolled loop and those in it there are at most."""

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
    last = _loop(scope, statement, execute, source, carried)
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
    shared = scope.program.shared
    outermost = shared.unrolled is None
    try:
        for turn in found:
            _count_turn(scope, statement)
            values = bound_to(scope, statement.targets, turn)
            for target, value in zip(statement.targets, values, strict=True):
                scope.bind(target.name, value)
                place = scope.program.file, target.pos.line, target.pos.col
                shared.turns.setdefault(place, []).append(value)
            run_turn(scope, statement, execute)
    finally:
        if outermost:
            shared.unrolled = None


def _count_turn(scope: Scope, statement: s.For) -> None:
    """ShardcError where a loop and those in it have more than MAX_TURNS."""
    turns = scope.program.shared.unrolled = (scope.program.shared.unrolled or 0) + 1
    if turns > MAX_TURNS:
        hint = "with carrying it stays a loop: for i in range(N) carrying x:"
        message = f"unrolled loops in each other have more than {MAX_TURNS} turns"
        raise scope.e.error(message, hint, statement.stacks.pos)


def run_turn(scope: Scope, statement: s.For | s.While, execute: Execute) -> None:
    """Build a loop's body once."""
    for inner in statement.body:
        returned = execute(scope, inner)
        if returned is not None:
            raise scope.e.error("return stands at the end of a function only", pos=returned.value.pos)


def _loop(
    scope: Scope,
    statement: s.For,
    execute: Execute,
    source: Source,
    carried: Sequence[Value],
) -> Sequence[Value]:
    """What a loop carries and collects, after the last turn."""
    e, names, values = scope.e, *_outside(scope, statement)

    def turn(
        columns: Sequence[Value], read: Sequence[Value], starts: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        inner = scope.inner()
        for name, value in zip(names, read, strict=True):
            inner.bind(name, value)
        for target, value in zip(statement.targets, columns, strict=True):
            inner.bind(target.name, value)
            e.builder.name([t.value for t in tensors_of(value)], names_of(value, target.name))
        for target, value in zip(statement.carrying, starts, strict=True):
            inner.bind(target.name, value)
        run_turn(inner, statement, execute)
        pairs = zip(statement.carrying, carried, strict=True)
        results = [value_after(inner, target, old) for target, old in pairs]
        return results, [yielded(inner, target) for target in statement.collecting]

    called = source.names() + [
        n for name, value in zip(names, values, strict=True) for n in names_of(value, name)
    ]
    called.append(_counter_name(statement, source))
    called += [n for one, v in zip(statement.carrying, carried, strict=True) for n in names_of(v, one.name)]
    counted = CountedLoop(e, source, values, carried, turn, called)
    collected: list[Value] = []
    if statement.collecting:
        with e.at(statement.collecting[0].pos):
            collected = counted.stacks()
    pairs = zip(statement.collecting, collected, strict=True)
    with e.at(statement.pos):
        return counted.run(collected, [n for target, v in pairs for n in names_of(v, target.name)])


def _outside(scope: Scope, statement: s.For) -> tuple[list[str], list[Value]]:
    """What the body reads from outside: names and values."""
    found = outside(scope, statement)
    return [name for name, _ in found], [value for _, value in found]


def _counter_name(statement: s.For, source: Source) -> str:
    """What the counter is called: as in the header if it is there as it is, else i."""
    first = source.columns[0] if source.columns else None
    plain = isinstance(first, Counted) and (first.start, first.step) == (0, 1)
    return statement.targets[0].name if plain else "i"


def _check_names(scope: Scope, statement: s.For) -> None:
    check_header(scope, (*statement.targets, *statement.carrying, *statement.collecting))


def check_header(scope: Scope, targets: Sequence[s.Target]) -> None:
    """An error if a name stands twice in a loop's header, or is none of a value."""
    names = [target.name for target in targets]
    for i, target in enumerate(targets):
        if target.name in names[:i]:
            raise scope.e.error(f"{target.name} stands twice in this loop's header", pos=target.pos)
        scope.program.check_free(target.name, target.pos)
