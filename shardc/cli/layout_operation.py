"""The program that `shardc-layout signatures` looks at: a call in the language, or one operation by name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from shardc.analysis.build import GraphBuilder
from shardc.diagnostics import ShardcError, register_source
from shardc.graph import Graph, TensorType
from shardc.layout import LayoutError
from shardc.layout.notations.values import Value, parse
from shardc.ops import ShapeError, find

NAMES = ("x", "y", "z", "w")


def program_of(options: argparse.Namespace) -> tuple[str, Graph]:
    """What is computed, as text and as a program of one function."""
    if find(options.operation) is not None:
        return _of_operation(options.operation, options)
    call = expression(options.operation, len(options.shape), options.sizes, options.set)
    return call, _of_call(call, options.shape, options.dtype)


def expression(operation: str, operands: int, extra: Sequence[int] | None, named: Sequence[str]) -> str:
    """The expression of the language: a function's name gets its arguments."""
    if not re.fullmatch(r"\w+", operation):
        return operation
    sizes = [] if extra is None else [str(tuple(extra))]
    return f"{operation}({', '.join([*NAMES[:operands], *sizes, *named])})"


def _of_operation(name: str, options: argparse.Namespace) -> tuple[str, Graph]:
    """An operation by its full name, as one that was defined has it: `--sizes` and `--set` are attributes."""
    attrs: dict[str, Any] = {} if options.sizes is None else {"sizes": options.sizes}
    for text in options.set:
        key, _, value = text.partition("=")
        attrs[key.strip()] = _attribute(parse(value))
    types = [TensorType(shape, options.dtype) for shape in options.shape]
    builder = GraphBuilder()

    def body(inner: GraphBuilder, *operands: int) -> Sequence[int]:
        return inner.op(name, *operands, **attrs)

    try:
        builder.function("main", types, body)
    except ShapeError as error:
        raise ShardcError(f"{name}: {error}") from None
    written = [*NAMES[: len(types)], *(f"{key}={value}" for key, value in attrs.items())]
    return f"{name}({', '.join(written)})", builder.graph


def _attribute(value: Value) -> object:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple | list):
        return tuple(_attribute(item) for item in value)
    raise LayoutError(f"an attribute is a number, a text in quotes or a tuple, not {value}")


def _of_call(call: str, shapes: Sequence[tuple[int, ...]], dtype: str) -> Graph:
    from shardc.dialects.snapshot import snapshot
    from shardc.frontend.text import read

    types = [
        f"{name}: {dtype}[{', '.join(map(str, shape))}]" for name, shape in zip(NAMES, shapes, strict=False)
    ]
    text = f"def main({', '.join(types)}):\n    return {call}\n"
    register_source("<operation>", text)
    return snapshot(read(text, "<operation>", {}, None)).graph
