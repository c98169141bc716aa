"""Tuples and records as trees whose leaves are tensors: what loops carry, and functions take and return.

A lambda is a tree too: of what it captures.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import FunctionName, Known, Number, RecordValue, Tensor, Value
from shardc.graph.trees import Branch, Tree


def leaves(value: Value) -> Iterator[Known]:
    """What a value consists of, in order: itself, unless it is a tuple or a record."""
    if isinstance(value, tuple):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, RecordValue):
        for _, item in value.fields:
            yield from leaves(item)
    elif isinstance(value, FunctionName) and value.over:
        yield from leaves(value.captured)
    else:
        yield value


def tensors_of(value: Value) -> list[Tensor]:
    """The tensors in a value, in order."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, Tensor)]


def rebuilt(value: Value, tensors: Sequence[Tensor]) -> Value:
    """The same tree with these tensors instead of its own."""
    return _rebuilt(value, iter(tensors))


def _rebuilt(value: Value, tensors: Iterator[Tensor]) -> Value:
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple):
        return tuple(_rebuilt(item, tensors) for item in value)
    if isinstance(value, RecordValue):
        return RecordValue(value.name, tuple((name, _rebuilt(item, tensors)) for name, item in value.fields))
    if isinstance(value, FunctionName) and value.over:
        return value.over(tuple(_rebuilt(item, tensors) for item in value.captured))
    return value


def has_function(value: Value) -> bool:
    """Whether a value is a function, or has one among its items."""
    if isinstance(value, RecordValue):
        return any(has_function(item) for _, item in value.fields)
    return isinstance(value, FunctionName) or (isinstance(value, tuple) and any(map(has_function, value)))


def tree_of(value: Value) -> Tree:
    """Which tensors of a value are the items of its tuples and records."""
    if isinstance(value, tuple):
        return Branch(tuple(map(tree_of, value)))
    if isinstance(value, RecordValue):
        return Branch(
            tuple(tree_of(item) for _, item in value.fields),
            value.name,
            tuple(name for name, _ in value.fields),
        )
    return None


def names_of(value: Value, name: str) -> list[str]:
    """What the tensors of a value called `name` are called: layer_wq, pair_0."""
    if isinstance(value, tuple):
        return [one for i, item in enumerate(value) for one in names_of(item, f"{name}_{i}")]
    if isinstance(value, RecordValue):
        return [one for field, item in value.fields for one in names_of(item, f"{name}_{field}")]
    if isinstance(value, FunctionName) and value.over:
        return names_of(value.captured, name)
    return [name] if isinstance(value, Tensor) else []


def form_of(value: Value) -> Hashable:
    """Equal for values that differ in the contents of their tensors only."""
    if isinstance(value, Tensor):
        return value.type, value.weak
    if isinstance(value, tuple):
        return tuple(map(form_of, value))
    if isinstance(value, RecordValue):
        return value.name, tuple((name, form_of(item)) for name, item in value.fields)
    return type(value).__name__, value


def as_tensors(e: Emitter, value: Value) -> Value:
    """A value with its numbers as tensors."""
    if isinstance(value, tuple):
        return tuple(as_tensors(e, item) for item in value)
    if isinstance(value, RecordValue):
        return RecordValue(value.name, tuple((name, as_tensors(e, item)) for name, item in value.fields))
    return e.tensor(value) if isinstance(value, Number) else value
