"""The report is below no backend: what a written program holds is handed to it as data."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", sorted((ROOT / "shardc/report").glob("*.py")), ids=lambda path: path.stem)
def test_no_backend(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.startswith("shardc.backend") for name in names), ast.unparse(node)
