"""What the loops of a compiled program run over: counters, and stacks of layers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.indexing import Range
from shardc.frontend.text.builtins.places import index
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.trees import names_of, rebuilt, tensors_of
from shardc.frontend.text.turns import maker, one_argument, range_of
from shardc.frontend.text.values import RecordValue, Tensor, Value, describe
from shardc.graph.types import TensorType
from shardc.ops import hlo

COUNTER = TensorType((), "i32")


class Counted(Struct, frozen=True):
    """A number that begins with `start` and grows by `step`."""

    start: int
    step: int


class Stack(Struct, frozen=True):
    """The layers of a tensor, or of all tensors of a tuple or record; the last one first if `backwards`."""

    value: Value
    name: str
    backwards: bool = False


class Source(Struct, frozen=True):
    """`count` turns, and what each name of the loop's header runs over; `backwards` if it is reversed(…)."""

    count: int
    columns: tuple[Counted | Stack, ...]
    backwards: bool = False

    @property
    def stacks(self) -> list[Stack]:
        """The columns that are stacks."""
        return [column for column in self.columns if isinstance(column, Stack)]

    def tensors(self) -> list[Tensor]:
        """The tensors of all stacks, in order."""
        return [tensor for stack in self.stacks for tensor in tensors_of(stack.value)]

    def names(self) -> list[str]:
        """What they are called."""
        return [name for stack in self.stacks for name in names_of(stack.value, stack.name)]

    def turn(self, e: Emitter, counter: Tensor, tensors: Sequence[Tensor]) -> list[Value]:
        """What the names stand for in turn `counter`, a number from 0; `tensors` are those of the stacks."""
        rest = list(tensors)
        values: list[Value] = []
        for column in self.columns:
            if isinstance(column, Counted):
                values.append(_number(e, counter, column))
                continue
            own = [rest.pop(0) for _ in tensors_of(column.value)]
            at = counter
            if column.backwards:
                at = e.op(hlo.subtract.name, e.splat(self.count - 1, COUNTER), counter)
            values.append(rebuilt(column.value, [_layer(e, tensor, at) for tensor in own]))
        return values


def source_of(scope: Scope, expr: s.Expr) -> Source | None:
    """What a loop runs over; None if all of it is known while compiling. Raises ShardcError."""
    if isinstance(expr, s.Call) and (name := maker(expr)):
        return _made(scope, name, expr)
    if isinstance(expr, s.Sequence):
        values = [(scope.value(one), one) for one in expr.items]
        if values and not any(tensors_of(value) for value, _ in values):
            return None
        return _joined(scope, [_stack(scope, value, one) for value, one in values], expr)
    value = scope.value(expr)
    if isinstance(value, tuple) and not tensors_of(value):
        return None
    return _stack(scope, value, expr)


def _made(scope: Scope, name: str, expr: s.Call) -> Source | None:
    if name == "range":
        found = range_of(scope, expr)
        count = len(found) if found.stop - found.start < 2**62 > found.start - found.stop else 2**62
        if any(abs(number) >= 2**31 for number in (count, found.start, found.stop)):
            raise scope.e.error(f"a loop of {count} turns", "the counter is an i32", expr.args[0].pos)
        return Source(count, (Counted(found.start, found.step),))
    if name == "zip":
        parts = [source_of(scope, arg) for arg in expr.args]
        return None if None in parts else _joined(scope, [p for p in parts if p is not None], expr)
    inner = source_of(scope, one_argument(scope, expr))
    if inner is None:
        return None
    if name == "enumerate":
        return Source(inner.count, (Counted(0, 1), *inner.columns), inner.backwards)
    columns = tuple(_backwards(column, inner.count) for column in inner.columns)
    return Source(inner.count, columns, not inner.backwards)


def _backwards(column: Counted | Stack, count: int) -> Counted | Stack:
    if isinstance(column, Counted):
        return Counted(column.start + (count - 1) * column.step, -column.step)
    return Stack(column.value, column.name, not column.backwards)


def _joined(scope: Scope, sources: Sequence[Source], expr: s.Expr) -> Source:
    counts = list(dict.fromkeys(source.count for source in sources))
    if len(counts) > 1:
        places = expr.items if isinstance(expr, s.Sequence) else expr.args if isinstance(expr, s.Call) else ()
        at = next(i for i, source in enumerate(sources) if source.count != counts[0])
        raise scope.e.error(f"stacks of {counts[0]} and {counts[1]} layers", pos=places[at].pos)
    return Source(counts[0] if counts else 0, tuple(c for source in sources for c in source.columns))


def _stack(scope: Scope, value: Value, expr: s.Expr) -> Source:
    e, tensors = scope.e, tensors_of(value)
    if not tensors or not isinstance(value, Tensor | tuple | RecordValue):
        raise e.error(f"a loop runs over stacks of layers, not over {describe(value)}", pos=expr.pos)
    for tensor in tensors:
        if tensor.rank == 0:
            raise e.error(f"a loop runs over stacks of layers, not over {describe(tensor)}", pos=expr.pos)
        if tensor.sharding is not None and tensor.sharding.dims[0].axes:
            names = ", ".join(axis.name for axis in tensor.sharding.dims[0].axes)
            raise e.error(
                f"this stack is split over {names} along its layer dimension",
                "each turn needs one layer on all devices: split another dimension of the stack",
                expr.pos,
            )
    counts = list(dict.fromkeys(tensor.shape[0] for tensor in tensors))
    if len(counts) > 1:
        raise e.error(f"stacks of {counts[0]} and {counts[1]} layers in {describe(value)}", pos=expr.pos)
    return Source(counts[0], (Stack(value, expr.id if isinstance(expr, s.Name) else "stack"),))


def spread(scope: Scope, source: Source, names: int) -> Source:
    """The source with a column for each name, where tuples and records are unpacked: for a, b in pairs.

    A single tensor is unpacked along its second dimension. As it is where the names do not fit.
    """
    if len(source.columns) == names:
        return source
    columns = [inner for column in source.columns for inner in _items(column)]
    if len(columns) == names:
        return replace(source, columns=tuple(columns))
    match source.columns:
        case (Stack(value=Tensor() as stack) as column,) if stack.shape[1:2] == (names,):
            whole = Range(None, None, None)
            rows = [index(scope.e, stack, (whole, i)) for i in range(names)]
            return replace(source, columns=tuple(replace(column, value=row) for row in rows))
        case _:
            return source


def _items(column: Counted | Stack) -> Sequence[Counted | Stack]:
    """The items of a stack of tuples or records, as stacks."""
    if not isinstance(column, Stack) or not isinstance(column.value, tuple | RecordValue):
        return [column]
    pairs = column.value.fields if isinstance(column.value, RecordValue) else enumerate(column.value)
    return [replace(column, value=item, name=f"{column.name}_{key}") for key, item in pairs]


def _number(e: Emitter, counter: Tensor, column: Counted) -> Tensor:
    value = counter
    if column.step == -1:
        return e.op(hlo.subtract.name, e.splat(column.start, COUNTER), counter)
    if column.step != 1:
        value = e.op(hlo.multiply.name, value, e.splat(column.step, COUNTER))
    if column.start != 0:
        value = e.op(hlo.add.name, value, e.splat(column.start, COUNTER))
    return value


def _layer(e: Emitter, stack: Tensor, at: Tensor) -> Tensor:
    if not stack.shape[0]:  # of a loop without turns, whose body is built for what it would yield
        return e.splat(0, stack.type.with_shape(stack.shape[1:]))
    zero = [e.splat(0, COUNTER) for _ in stack.shape[1:]]
    layer = e.op(hlo.dynamic_slice.name, stack, at, *zero, slice_sizes=(1, *stack.shape[1:]), weak=False)
    return e.reshape(layer, stack.shape[1:])
