"""No test has a tolerance of its own: how near floats are, tests/tolerance.py says, by terms and dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(path for path in TESTS.rglob("*.py") if path != TESTS / "tolerance.py")
CLOSE = {"allclose", "isclose", "assert_allclose", "assert_almost_equal", "assert_array_almost_equal"}
OPTIONS = {"rtol", "atol", "decimal", "tolerance"}
ABOUT = (
    "unit/report",
    "unit/planning",
    "unit/launch",
    "property/test_reshard_optimal.py",
    "property/test_stages.py",
)
"""Models of time and bytes: figures out of papers, as precise as those print them."""


def _tolerances(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CLOSE or name == "approx" or any(word.arg in OPTIONS for word in node.keywords):
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_tolerance_stands_in_a_test(path: Path) -> None:
    if not str(path.relative_to(TESTS)).startswith(ABOUT):
        found = [node.lineno for node in _tolerances(ast.parse(path.read_text(encoding="utf-8")))]
        assert not found, f"{path.name}:{found}: use a function of tests/tolerance.py"


def test_a_tolerance_is_seen() -> None:
    text = "np.testing.assert_allclose(a, b)\nclose(a, b, rtol=1e-3)\nassert a == pytest.approx(b)\nlog(1e-3)"
    assert [node.lineno for node in _tolerances(ast.parse(text))] == [1, 2, 3]
