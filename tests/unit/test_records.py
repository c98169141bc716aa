"""Records are structs: `replace` and `fields` of dataclasses would overlook them."""

from __future__ import annotations

import ast
from importlib import import_module
from inspect import get_annotations
from pathlib import Path

import pytest
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.target import Target

ROOT = Path(__file__).parents[2]
OF_XDSL = ModulePass, Printer, Target
"""Whose classes are dataclasses, as those derived from them must be."""

ROOMS = {"shardc": "shardc", "dialects": "shardc.dialects", "passes": "shardc.passes"}


def _modules() -> list[tuple[str, ast.Module]]:
    """Those whose text has the word: to parse all takes a second of each worker."""
    found: list[tuple[str, ast.Module]] = []
    for folder, package in ROOMS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "dataclass" in text:
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                found.append((".".join((package, *parts)), ast.parse(text)))
    return found


DATACLASSES = [
    (module, node.name)
    for module, tree in _modules()
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef) and any("dataclass" in ast.dump(each) for each in node.decorator_list)
]


@pytest.mark.parametrize(("module", "name"), DATACLASSES)
def test_dataclasses_are_of_xdsl(module: str, name: str) -> None:
    assert issubclass(getattr(import_module(module), name), OF_XDSL)


@pytest.mark.parametrize(("module", "name"), DATACLASSES)
def test_dataclasses_have_fields(module: str, name: str) -> None:
    """One that has none takes half a millisecond of each process for nothing."""
    assert get_annotations(getattr(import_module(module), name))
