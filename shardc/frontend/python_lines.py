"""Which names the lines of a Python file assign: `q = x @ w` at a line and column -> q.

The function that a line is in is parsed, never run. A file that cannot be read or parsed assigns nothing.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

Place = tuple[int, int]
"""Line, from 1, and column, from 0, of an expression: as Python counts, and JAX in its locations."""

_LARGEST = 4_000_000
"""Bytes of a file that is still parsed."""


class Statement(Struct, frozen=True):
    """A statement that assigns: where it stands, and the names on its left, None for what is no name.

    One without names returns a value, which the statement that called assigns.
    """

    file: str
    line: int
    column: int
    targets: tuple[str | None, ...]


@lru_cache(maxsize=1 << 12)
def statement_at(file: str, place: Place) -> Statement | None:
    """The statement that assigns or returns a value of which an expression begins at the place."""
    part = part_at(file, place)
    return None if part is None else _statements(file, part).get(place)


class _File(Struct, frozen=True):
    """The lines of a file, and which of them, from 1 and in order, begin statements outside all others."""

    lines: Sequence[bytes]
    begins: Sequence[int]

    def around(self, line: int) -> tuple[int, int]:
        """The first line of the statement that a line is in, and the first after it."""
        after = bisect_right(self.begins, line)
        ends = self.begins[after] if after < len(self.begins) else len(self.lines) + 1
        return self.begins[max(0, after - 1)], ends

    def whole(self) -> tuple[int, int]:
        """The first line of all, and the first after them."""
        return 1, len(self.lines) + 1


@lru_cache(maxsize=64)
def _file(file: str) -> _File:
    """A file; one without lines where it cannot be read."""
    path = Path(file)
    try:
        known = path.suffix == ".py" and path.stat().st_size <= _LARGEST
        lines = path.read_bytes().splitlines(keepends=True) if known else []
    except (OSError, ValueError):
        lines = []
    return _File(lines, [1, *_begins(lines)])


_BEGINS = re.compile(rb"(?!else\b|elif\b|except\b|finally\b)[@A-Za-z_\x80-\xff]")
"""How lines begin where a statement or its decorators do. One that begins otherwise, as with a bracket, is
parsed with the one before it.
"""


def _begins(lines: Sequence[bytes]) -> Iterator[int]:
    decorated = False
    for number, line in enumerate(lines, 1):
        if _BEGINS.match(line):
            if not decorated:
                yield number
            decorated = line.startswith(b"@")


@lru_cache(maxsize=256)
def _parsed(file: str, begin: int, end: int) -> Sequence[ast.stmt]:
    """The statements of some lines of a file; of all lines, where these alone are no statements, as where a
    text in quotes has lines that look like their beginning.
    """
    found = _file(file)
    try:
        return ast.parse(b"\n" * (begin - 1) + b"".join(found.lines[begin - 1 : end - 1])).body
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return () if (begin, end) == found.whole() else _parsed(file, *found.whole())


def part_at(file: str, place: Place) -> ast.stmt | None:
    """The function, method or other statement outside all functions that a place is in.

    A program's places are in a few functions of a file: the others are not parsed.
    """
    body = _parsed(file, *_file(file).around(place[0]))
    while True:
        before = bisect_right(body, place, key=_begin)
        if before == 0 or place[0] > (body[before - 1].end_lineno or 0):
            return None
        part = body[before - 1]
        if not isinstance(part, ast.ClassDef):
            return part
        body = part.body


def first_line(node: ast.stmt) -> int:
    """Where a statement begins, with its decorators."""
    decorated = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return min([node.lineno, *(d.lineno for d in node.decorator_list)]) if decorated else node.lineno


def _begin(node: ast.stmt) -> Place:
    return first_line(node), node.col_offset


@lru_cache(maxsize=1024)
def _statements(file: str, part: ast.stmt) -> dict[Place, Statement]:
    found: dict[Place, Statement] = {}
    for node in ast.walk(part):
        value, targets = _assignment(node)
        if value is None or not isinstance(node, (ast.stmt, ast.expr)):
            continue
        statement = Statement(file, node.lineno, node.col_offset, targets)
        for expression in _evaluated(value):
            found[expression.lineno, expression.col_offset] = statement
    return found


def _assignment(node: ast.AST) -> tuple[ast.expr | None, tuple[str | None, ...]]:
    """The right side of an assignment and the names on the left; None for anything else.

    No names where a function returns the value.
    """
    match node:
        case ast.Return(value=value) | ast.Lambda(body=value):
            return value, ()
        case ast.Assign(targets=[ast.Tuple() | ast.List() as several], value=value):
            return value, tuple(map(_name, several.elts))
        case ast.Assign(targets=targets, value=value):
            return value, (_name(targets[0]),)
        case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
            return value if not isinstance(node, ast.AugAssign) else _of_augmented(node), (_name(target),)
        case ast.NamedExpr(target=target, value=value):
            return value, (_name(target),)
        case _:
            return None, ()


def _of_augmented(node: ast.AugAssign) -> ast.expr:
    """`x += y` computes x + y, at the place of x."""
    return ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)


def _name(target: ast.expr) -> str | None:
    """x -> x, self.x -> x, params["w"] -> params_w; None where no name says which value it is."""
    match target:
        case ast.Name(id=name):
            return name if name != "_" else None
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return f"{name}_{key}"
        case _:
            return None


_OTHER_VALUES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""What is in these is not the value that is assigned."""


def _evaluated(value: ast.expr) -> Iterator[ast.expr]:
    """The expressions that make a value."""
    pending: list[ast.AST] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, _OTHER_VALUES):
            continue
        if isinstance(node, ast.expr):
            yield node
        pending += ast.iter_child_nodes(node)
