"""What a user's Python calls the parts of a tree: `h, c = carry` -> carry[0] is h, carry[1] is c.

Paths are JAX's: `[0]` for the item of a tuple, `['w']` of a dict, `.mu` for an attribute. Files are parsed,
never run; what cannot be read names nothing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from shardc.frontend.python_lines import Place, first_line, part_at

Root = Callable[[ast.expr], str | None]
"""The path of an expression that paths begin with."""


@lru_cache(maxsize=256)
def unpacked_in(file: str, line: int, function: str) -> Mapping[str, str]:
    """Path of a part of a parameter -> the variable that it is assigned to, in the function at a line.

    The line is the one where it begins, or its first decorator.
    """
    for node in _nodes(file, (line, sys.maxsize)):
        if isinstance(node, ast.FunctionDef) and node.name == function and first_line(node) == line:
            return _unpacked(node)
    return {}


@lru_cache(maxsize=256)
def turn_parameters(file: str, line: int, function: str) -> tuple[str, ...]:
    """The two parameters that a loop gives its body, the function at a line or its one lambda.

    What `functools.partial` binds stands before them, and what has defaults behind.
    """
    found = [
        node.args
        for node in _nodes(file, (line, sys.maxsize))
        if isinstance(node, ast.FunctionDef | ast.Lambda) and _is_at(node, line, function)
    ]
    if len(found) != 1:
        return ()
    names = [argument.arg for argument in (*found[0].posonlyargs, *found[0].args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    needed = names[: len(names) - len(found[0].defaults)]
    return tuple(needed[-2:] if len(needed) > 1 else names[:2])


def _is_at(node: ast.FunctionDef | ast.Lambda, line: int, function: str) -> bool:
    if isinstance(node, ast.Lambda):
        return function == "<lambda>" and node.lineno == line
    return node.name == function and first_line(node) == line


def _unpacked(node: ast.FunctionDef) -> Mapping[str, str]:
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    parameters = {argument.arg for argument in every}
    found: dict[str, str] = {}

    def root(value: ast.expr) -> str | None:
        return value.id if isinstance(value, ast.Name) and value.id in parameters else None

    for path, name in (pair for statement in node.body for pair in _pairs(statement, root)):
        found.setdefault(path, name)
    return found


@lru_cache(maxsize=256)
def assigned_from(file: str, place: Place) -> Mapping[str, str]:
    """Path of a part of what the call at a place gives, from `result` on -> the variable that it becomes."""

    def root(value: ast.expr) -> str | None:
        called = isinstance(value, ast.Call) and (value.lineno, value.col_offset) == place
        return "result" if called else None

    return {path: name for node in _nodes(file, place) for path, name in _pairs(node, root)}


def _nodes(file: str, place: Place) -> Iterator[ast.AST]:
    """What is in the function outside all functions that a place is in."""
    part = part_at(file, place)
    return iter(()) if part is None else ast.walk(part)


def _pairs(statement: ast.AST, root: Root) -> Iterator[tuple[str, str]]:
    """Paths and the variables that a statement assigns them to."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        yield from _matched(statement.targets[0], statement.value, root)


def _matched(target: ast.expr, value: ast.expr, root: Root) -> Iterator[tuple[str, str]]:
    match target, value:
        case ((ast.Tuple(elts=names) | ast.List(elts=names)), (ast.Tuple(elts=parts) | ast.List(elts=parts))):
            if len(names) == len(parts) and not any(isinstance(e, ast.Starred) for e in (*names, *parts)):
                for name, part in zip(names, parts, strict=True):
                    yield from _matched(name, part, root)
        case _:
            path = _path(value, root)
            if path is not None:
                yield from _spread(target, path)


def _spread(target: ast.expr, path: str) -> Iterator[tuple[str, str]]:
    """The variables that a target makes of what is at a path."""
    match target:
        case ast.Name(id=name) if name.strip("_"):
            yield path, name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for number, part in enumerate(parts):
                if isinstance(part, ast.Starred):
                    return
                yield from _spread(part, f"{path}[{number}]")
        case _:
            pass


def _path(value: ast.expr, root: Root) -> str | None:
    """The path of an expression as JAX writes it; None if it does not begin with the root."""
    match value:
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
            begin = _path(inner, root)
            return None if begin is None else f"{begin}[{key!r}]"
        case ast.Attribute(value=inner, attr=name):
            begin = _path(inner, root)
            return None if begin is None else f"{begin}.{name}"
        case _:
            return root(value)
