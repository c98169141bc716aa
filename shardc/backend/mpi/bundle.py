"""The source of functions with all that they name, so that a program carries them and imports nothing.

bundle("shardc.semantics.ops", ["gather"]) -> imports, and the definitions in the order of use

A record, msgspec's Struct here, is a NamedTuple there, with the same fields, defaults and methods.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

_RECORD = re.compile(r"class (\w+)\(Struct\b[^)]*\):")


class Bundle(Struct):
    """Lines of import, and texts of definitions. What a definition names stands before it or is
    imported, but for functions that call each other.
    """

    imports: dict[str, None] = {}
    definitions: dict[tuple[str, str], str] = {}


def bundle(module: str, names: Iterable[str]) -> Bundle:
    """What `names` of a module need. ValueError if two modules define one name differently."""
    made = Bundle()
    for name in names:
        _add(made, module, name, set())
    seen: dict[str, str] = {}
    for other, name in made.definitions:
        if seen.setdefault(name, other) != other:
            raise ValueError(f"{name} is defined in {seen[name]} and in {other}")
    return made


@cache
def _module(name: str) -> tuple[str, dict[str, ast.stmt]]:
    """A module's text, and the statements that define its names."""
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        for defined in _defined(node):
            found[defined] = node
    return text, found


def _defined(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        case _:
            return []


def _add(made: Bundle, module: str, name: str, open_: set[tuple[str, str]]) -> None:
    text, defined = _module(module)
    node = defined[name]
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shardc"):
        alias = next(alias for alias in node.names if (alias.asname or alias.name) == name)
        assert alias.asname in (None, alias.name) and node.module is not None
        return _add(made, node.module, name, open_)
    if isinstance(node, ast.Import | ast.ImportFrom):
        alias = next(a for a in node.names if (a.asname or a.name.partition(".")[0]) == name)
        made.imports[ast.unparse(_only(node, alias))] = None
        return None
    if (module, name) in open_ or (module, name) in made.definitions:
        return None
    open_ = open_ | {(module, name)}
    record = isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Struct" for base in node.bases)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in defined and inner.id not in (name, "Struct"):
            _add(made, module, inner.id, open_)
    lines = _text(text, node)
    if record:
        made.imports["from typing import NamedTuple"] = None
        lines = _RECORD.sub(r"class \1(NamedTuple):", lines)
    made.definitions.setdefault((module, name), lines)
    return None


def _only(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)


def _text(text: str, node: ast.stmt) -> str:
    """The lines of a statement, decorators included."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    assert node.end_lineno is not None
    return "\n".join(text.split("\n")[first - 1 : node.end_lineno])
