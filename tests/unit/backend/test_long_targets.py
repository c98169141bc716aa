"""Assignments to more names than fit on a line."""

from __future__ import annotations

import ast

import pytest

from shardc.backend.python.expressions import call, raw
from shardc.backend.python.writer import WIDTH, Writer


@pytest.mark.parametrize("count", [2, 6, 8, 9, 10, 11, 12, 30])
def test_they_stand_in_brackets(count: int):
    writer = Writer()
    names = [f"result_{i}" for i in range(count)]
    with writer.indented("def f():"):
        writer.statement(f"{', '.join(names)} = ", call("lax.fori_loop", "0", "3", "step", "carried"))
    text = writer.text()
    assert all(len(line) <= WIDTH for line in text.splitlines())
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    (assignment,) = function.body
    flat = ast.unparse(assignment).replace("(", "").replace(")", "")
    assert flat == f"{', '.join(names)} = lax.fori_loop0, 3, step, carried"


def test_a_short_one_stays_on_its_line():
    writer = Writer()
    writer.statement("a, b = ", call("f", "x"))
    assert writer.text() == "a, b = f(x)\n"


def test_names_that_fit_stand_on_the_line_of_a_value_that_does_not():
    writer = Writer()
    writer.statement("first, second = ", raw("x" * WIDTH))
    assert "first, second = " + "x" * WIDTH in writer.text().splitlines()
