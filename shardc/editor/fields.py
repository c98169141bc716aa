"""Which record a value is, as the syntax says: by its type, else by what is assigned to it or looped over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast

from msgspec import Struct

from shardc.editor.names import record_named
from shardc.frontend.text import syntax as s
from shardc.frontend.text.files import SourceFile

Found: TypeAlias = "tuple[s.RecordDef, SourceFile] | None"
"""A record, and the file that declares it."""


def record_of(file: SourceFile, function: s.Function, owner: str) -> s.RecordDef | None:
    """The record that `layer` or `model.layers` is in a function."""
    first, *names = owner.split(".")
    found = _local(file, function, first, set())
    for name in names:
        found = _field(found, name)
    return None if found is None else found[0]


def _local(file: SourceFile, function: s.Function, name: str, seen: set[str]) -> Found:
    """What a parameter or a variable is; of several assignments the last that says so. None of `seen` names,
    which are being looked at.
    """
    found: Found = None
    if name in seen:
        return None
    seen.add(name)
    for parameter in function.parameters:
        if parameter.name == name:
            found = _typed(file, parameter.type)
    for written, value in _given(function.body, name):
        found = _typed(file, written) or _value(file, function, value, seen) or found
    return found


def _given(body: Sequence[s.Statement], name: str) -> Iterator[tuple[s.AnyType | None, s.Expr | None]]:
    """The types and values that statements give a name; of a loop, the stack."""
    todo: list[object] = [*reversed(body)]
    while todo:
        node = todo.pop()
        if isinstance(node, s.Assign) and node.patterns == (0,) and node.targets[0].name == name:
            yield node.targets[0].type, node.value
        if isinstance(node, s.For):
            stacks = _stacks(node.stacks)
            for target, stack in zip(node.targets, stacks, strict=False):
                if target.name == name:
                    yield target.type, stack
        if isinstance(node, tuple):
            todo += reversed(cast("tuple[object, ...]", node))
        elif isinstance(node, Struct):
            todo += [getattr(node, field) for field in reversed(node.__struct_fields__)]


def _stacks(expr: s.Expr) -> list[s.Expr | None]:
    """What the names of a loop run over, one by one."""
    if isinstance(expr, s.Sequence):
        return [one for item in expr.items for one in _stacks(item)]
    name = expr.function.id if isinstance(expr, s.Call) and isinstance(expr.function, s.Name) else ""
    if isinstance(expr, s.Call) and name in ("zip", "reversed", "enumerate"):
        inner = [one for arg in expr.args for one in _stacks(arg)]
        return [None, *inner] if name == "enumerate" else inner
    return [expr]


def _value(file: SourceFile, function: s.Function, expr: s.Expr | None, seen: set[str]) -> Found:
    """layer, model.layers, layers[0], Layer(…), Layer[L](…)"""
    if isinstance(expr, s.Name):
        return _local(file, function, expr.id, seen)
    if isinstance(expr, s.Attribute):
        return _field(_value(file, function, expr.value, seen), expr.name)
    if isinstance(expr, s.Index):
        return _value(file, function, expr.value, seen)
    if isinstance(expr, s.Call):
        made = expr.function.value if isinstance(expr.function, s.Index) else expr.function
        if isinstance(made, s.Attribute) and isinstance(made.value, s.Name):
            return record_named(file, f"{made.value.id}.{made.name}")
        return record_named(file, made.id) if isinstance(made, s.Name) else None
    return None


def _field(found: Found, name: str) -> Found:
    if found is None:
        return None
    record, file = found
    return _typed(file, next((field.type for field in record.fields if field.name == name), None))


def _typed(file: SourceFile, written: s.AnyType | None) -> Found:
    """The record that a type is, or that of stacks."""
    if isinstance(written, s.NamedType):
        return record_named(file, written.name)
    return record_named(file, written.dtype) if isinstance(written, s.Type) else None
