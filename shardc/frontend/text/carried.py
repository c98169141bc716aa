"""What loops carry and collect, and what of a body's names is seen outside of it."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.frontend.text import syntax as s
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.reads import assigned_in, reads
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.stacks import COUNTER
from shardc.frontend.text.trees import as_tensors, leaves, tensors_of
from shardc.frontend.text.values import Number, Operand, RecordValue, Tensor, Value, describe
from shardc.ops import hlo


def start(scope: Scope, target: s.Target) -> Value:
    """What a carried name is worth before the first turn."""
    if target.name not in scope.names:
        raise scope.e.error(
            f"{target.name} is carried and has no value before the loop", "assign it above", target.pos
        )
    value = scope.value(s.Name(target.pos, target.name))
    if not all(isinstance(leaf, Operand) for leaf in leaves(value)):
        raise scope.e.error(f"{target.name} is {describe(value)} and cannot be carried", pos=target.pos)
    with scope.e.at(target.pos):
        return as_tensors(scope.e, value)


def value_after(inner: Scope, target: s.Target, old: Value) -> Value:
    """The value at the end of a turn, which has the type it began with."""
    value = inner.value(s.Name(target.pos, target.name))
    with inner.e.at(target.pos):
        return kept(inner.e, target.name, value, old)


def kept(e: Emitter, name: str, value: Value, old: Value) -> Value:
    """What is carried after a turn, of the type that it has before. Raises ShardcError."""
    if isinstance(old, RecordValue):
        items = dict(value.fields) if isinstance(value, RecordValue) and value.name == old.name else {}
        if [*items] != [field for field, _ in old.fields]:
            raise e.error(f"{name} becomes {describe(value)} in the loop")
        pairs = [(field, kept(e, f"{name}.{field}", items[field], item)) for field, item in old.fields]
        return RecordValue(old.name, tuple(pairs))
    if isinstance(old, tuple):
        if not isinstance(value, tuple) or len(value) != len(old):
            raise e.error(f"{name} becomes {describe(value)} in the loop")
        pairs = enumerate(zip(value, old, strict=True))
        return tuple(kept(e, f"{name}[{i}]", one, item) for i, (one, item) in pairs)
    assert isinstance(old, Tensor)
    return _kept_tensor(e, name, value, old)


def _kept_tensor(e: Emitter, name: str, value: Value, old: Tensor) -> Tensor:
    if isinstance(value, Number):
        value = e.tensor(value)
    if not isinstance(value, Tensor):
        raise e.error(f"{name} becomes {describe(value)} in the loop")
    if value.type != old.type and not (value.weak and value.shape == old.shape):
        hint = "carried values keep their type"
        if value.shape == old.shape:
            hint += f": start with {value.dtype}, or end with astype({name}, {old.dtype})"
        raise e.error(f"{name} is {old.type} before the loop and {value.type} after a turn", hint)
    return e.cast(value, old.dtype)


def yielded(inner: Scope, target: s.Target) -> Value:
    """What a turn yields under a name after `collecting`."""
    if target.name not in inner.names:
        raise inner.e.error(
            f"{target.name} is collected, and no statement of the loop assigns it",
            "what a turn assigns to it is stacked",
            target.pos,
        )
    value = inner.value(s.Name(target.pos, target.name))
    if not all(isinstance(leaf, Operand) for leaf in leaves(value)):
        raise inner.e.error(f"{target.name} is {describe(value)} and cannot be collected", pos=target.pos)
    with inner.e.at(target.pos):
        return as_tensors(inner.e, value)


def written(e: Emitter, stack: Tensor, at: Tensor, layer: Tensor) -> Tensor:
    """The stack with a layer written at a place."""
    zero = [e.splat(0, COUNTER) for _ in layer.shape]
    row = e.reshape(layer, (1, *layer.shape))
    return e.op(hlo.dynamic_update_slice.name, stack, row, at, *zero, weak=False)


def outside(scope: Scope, statement: s.For) -> list[tuple[str, Value]]:
    """The values with tensors from outside that the body reads, in the order it first does."""
    bound = {target.name for target in (*statement.targets, *statement.carrying)}
    bound |= {target.name for target in statement.collecting} - {*reads(statement.body)}
    return read_from(scope, reads(statement.body), bound)


def read_from(scope: Scope, read: Sequence[str], bound: set[str]) -> list[tuple[str, Value]]:
    """The values with tensors of names that are read and not bound, each once."""
    names = [name for name in dict.fromkeys(read) if name not in bound]
    return [
        (name, scope.names[name]) for name in names if name in scope.names and tensors_of(scope.names[name])
    ]


def lose(scope: Scope, statement: s.For | s.While) -> None:
    """Names that the body assigned and the loop neither carries nor collects mean nothing after it."""
    collecting = statement.collecting if isinstance(statement, s.For) else ()
    targets = statement.targets if isinstance(statement, s.For) else ()
    kept = {target.name for target in (*statement.carrying, *collecting)}
    gone = {target.name: target.pos for target in targets} | assigned_in(statement.body)
    for name, pos in gone.items():
        if name not in kept:
            scope.lost[name] = pos
