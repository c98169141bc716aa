"""The part of a Python file in which names are looked for, and what is found there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shardc.frontend.python_lines import first_line, part_at, statement_at

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


def test_a_part_is_parsed_without_the_others(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list[bytes]()
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text: texts.append(text) or parse(text))
    assert statement_at(file, (9, 16)) is not None and statement_at(file, (11, 21)) is not None
    assert [text.strip().splitlines()[0] for text in texts] == [b"class Model:"]


STRANGE = '''\
(first, second) = f(1), g(2)
text = """
def f(
"""
@decorated
@twice
def later(x):
    y = """
def inner():
""" + g(x)
    return y
try:
    a = f(1)
except ValueError:
    b = f(2)
else:
    c = f(3)
d = f(
g(4)
)
größe = f(5)
'''


def test_lines_that_only_look_as_if_they_began_something(tmp_path: Path) -> None:
    path = tmp_path / "strange.py"
    path.write_text(STRANGE, "utf-8")
    tree = ast.parse(STRANGE)
    for line in range(1, STRANGE.count("\n") + 1):
        part = next((each for each in tree.body if first_line(each) <= line <= (each.end_lineno or 0)), None)
        found = part_at(str(path), (line, 99))
        assert (
            found
            and part
            and ast.dump(found, include_attributes=True) == ast.dump(part, include_attributes=True)
        )
