"""Outside of shardc/ops no operation is named by a string: `hlo.add.name`, not its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardc.ops import definitions

ROOT = Path(__file__).parents[3]
OPS = {definition.name for definition in definitions()}
DIALECTS = {definition.dialect for definition in definitions()}
WORD = re.compile(r"\b\w+\.[a-z][\w-]*")
PREFIX = re.compile(rf"\b({'|'.join(sorted(DIALECTS))})\.$")

EXCEPTIONS = {
    "dialects/mlir_style.py": "`func.call` is text that MLIR prints so",
    "dialects/stablehlo/attributes.py": "attributes that StableHLO calls as it calls operations",
    "dialects/stablehlo/enums.py": "an attribute that StableHLO calls as it calls an operation",
    "shardc/layout/notations/sdy.py": "reads the text of a mesh; layout lies below ops",
    "shardc/cli/layout_inputs.py": "tells the text of a mesh from that of other notations",
}
"""File -> why a name stands in it."""


def sources() -> Iterator[Path]:
    """Every file of the compiler outside of ops; rooms that are links count once."""
    for room in ("shardc", "dialects", "passes", "grammar"):
        for path in sorted((ROOT / room).rglob("*.py")):
            inside = path.relative_to(ROOT).parts
            linked = any((ROOT / Path(*inside[:depth])).is_symlink() for depth in range(1, len(inside)))
            if not linked and inside[:2] != ("shardc", "ops"):
                yield path


def named(text: str) -> Iterator[str]:
    """The places of a file where a string names an operation; docstrings don't count."""
    tree = ast.parse(text)
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from (f"{node.lineno}: {word}" for word in WORD.findall(node.value) if word in OPS)
        if isinstance(node, ast.JoinedStr):
            yield from (f"{node.lineno}: {prefix}…" for prefix in _prefixes(node))


def _prefixes(text: ast.JoinedStr) -> Iterator[str]:
    """`stablehlo.` before a braced part."""
    for part, following in zip(text.values, text.values[1:], strict=False):
        found = PREFIX.search(str(part.value)) if isinstance(part, ast.Constant) else None
        if found and isinstance(following, ast.FormattedValue):
            yield found[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('x = "stablehlo.add"', ["1: stablehlo.add"]),
        ('x = {"a spmd.all_gather or sdy.reshard"}', ["1: spmd.all_gather", "1: sdy.reshard"]),
        ('x = f"chlo.{y}"', ["1: chlo.…"]),
        ('"""stablehlo.add"""\nx = "stablehlo.token"', []),
        ("x = hlo.add.name", []),
    ],
)
def test_what_counts_as_a_name(text: str, found: list[str]) -> None:
    assert list(named(text)) == found


def test_no_string_names_an_operation() -> None:
    allowed = EXCEPTIONS.keys()
    offenders = {
        path: found
        for source in sources()
        if (found := list(named(source.read_text(encoding="utf-8"))))
        and (path := source.relative_to(ROOT).as_posix()) not in allowed
    }
    assert not offenders, offenders


def test_the_exceptions_are_needed() -> None:
    for path in EXCEPTIONS:
        assert list(named((ROOT / path).read_text(encoding="utf-8"))), path
