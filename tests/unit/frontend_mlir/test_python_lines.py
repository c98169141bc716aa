"""The part of a Python file in which names are looked for, and what is found there."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.frontend.python_lines import part_at, statement_at

PYTHON = """\
import jax
a = f(1); b = f(2)

class Model:
    @jax.jit(
        static_argnums=0)
    def step(self, x):
        def inner(y):
            z = y + 1
            return z
        self.state = inner(x)

    async def later(self):
        c = f(3)

if a:
    d = f(4)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "model.py"
    path.write_text(PYTHON, "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("place", "targets"),
    [
        ((2, 4), ("a",)),
        ((2, 14), ("b",)),
        ((9, 16), ("z",)),
        ((10, 19), ()),
        ((11, 21), ("state",)),
        ((14, 12), ("c",)),
        ((17, 8), ("d",)),
    ],
)
def test_statements_of_all_parts(file: str, place: tuple[int, int], targets: tuple[str, ...]) -> None:
    statement = statement_at(file, place)
    assert statement is not None
    assert statement.targets == targets


@pytest.mark.parametrize("place", [(0, 0), (1, 0), (4, 0), (12, 0), (15, 0), (18, 0)])
def test_places_without_a_statement(file: str, place: tuple[int, int]) -> None:
    assert statement_at(file, place) is None


def test_a_part_is_one_method(file: str) -> None:
    part = part_at(file, (9, 16))
    assert part is not None
    assert (part.lineno, part.end_lineno) == (7, 11)
    assert part is part_at(file, (5, 4))
    assert part_at(file, (12, 0)) is None
