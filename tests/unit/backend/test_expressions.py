"""Parentheses where Python or a reader needs them, line breaks where a line gets too long."""

import pytest

from shardc.backend.python.expressions import (
    attribute,
    binary,
    call,
    index,
    integers,
    name,
    raw,
    tuple_of,
    unary,
)
from shardc.backend.python.writer import Writer

x, y, z = name("x"), name("y"), name("z")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (binary("+", x, binary("*", y, z)), "x + y * z"),
        (binary("*", binary("+", x, y), z), "(x + y) * z"),
        (binary("-", x, binary("-", y, z)), "x - (y - z)"),
        (binary("-", binary("-", x, y), z), "x - y - z"),
        (binary("@", binary("*", x, y), z), "(x * y) @ z"),
        (binary("*", x, binary("@", y, z)), "x * (y @ z)"),
        (binary("<", binary("<", x, y), z), "(x < y) < z"),
        (binary("&", binary("<", x, y), binary("<", y, z)), "(x < y) & (y < z)"),
        (binary("|", binary("&", x, y), z), "(x & y) | z"),
        (binary("&", binary("&", x, y), z), "x & y & z"),
        (binary("|", binary(">>", x, y), binary("<<", x, z)), "(x >> y) | (x << z)"),
        (binary(">>", binary("+", x, y), z), "(x + y) >> z"),
        (binary("**", unary("-", x), y), "(-x) ** y"),
        (unary("-", binary("+", x, y)), "-(x + y)"),
        (attribute(binary("+", x, y), "T"), "(x + y).T"),
        (index(unary("-", x), [":", "None"]), "(-x)[:, None]"),
        (index(index(x, [":", "None"]), [":", "0"]), "x"),
        (index(index(x, ["None", ":", "None"]), ["0", ":", "0"]), "x"),
        (index(index(x, ["None", ":", "None"]), ["0"]), "x[None, :, None][0]"),
        (index(index(x, [":", "None"]), ["0", "0"]), "x[:, None][0, 0]"),
        (index(index(x, [":", "None"]), [":", "1"]), "x[:, None][:, 1]"),
        (call("f", x, axis="1", dtype=None), "f(x, axis=1)"),
        (tuple_of([x]), "(x,)"),
        (tuple_of([]), "()"),
        (integers((0,) * 6), "(0,) * 6"),
    ],
)
def test_text(expr, text):
    assert expr.text == text
    compile(text, "text", "eval")


def test_what_is_read():
    assert call("f", binary("+", x, raw("1")), axis=z).reads == {"x", "z"}


def test_long_calls_break_one_argument_a_line():
    writer = Writer()
    inner = call("jax.numpy.something_long", *[name(f"argument_{i}") for i in range(6)])
    with writer.indented("def f():"):
        writer.statement("result = ", call("jax.numpy.function", inner, x, axis="1"))
    text = writer.text()
    compile(text, "text", "exec")
    assert max(map(len, text.split("\n"))) <= 88
    assert "        x,\n        axis=1,\n    )\n" in text


JOINED = call("np.concatenate", tuple_of([name("before"), name("block")]), axis="0")
SUM = binary("+", binary("+", JOINED, x), JOINED)
LINES = """\
    np.concatenate((before, block), axis=0)
    + x
    + np.concatenate((before, block), axis=0)
"""


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (SUM, f"a = (\n{LINES})\n"),
        (binary("/", SUM, raw("3.0")), f"a = (\n{LINES}) / 3.0\n"),
        (binary("-", y, SUM), f"a = y - (\n{LINES})\n"),
        (binary("*", SUM, SUM), f"a = (\n{LINES}) * (\n{LINES})\n"),
        (call("np.exp", SUM), f"a = np.exp(\n{LINES.rstrip()},\n)\n"),
        (
            binary("+", call("np.exp", JOINED, name("y" * 30)), JOINED),
            f"a = (\n    np.exp(np.concatenate((before, block), axis=0), {'y' * 30})\n"
            "    + np.concatenate((before, block), axis=0)\n)\n",
        ),
    ],
)
def test_a_long_chain_of_operators_breaks_before_them(expr, text):
    writer = Writer()
    writer.statement("a = ", expr)
    assert writer.text() == text
    compile(text, "text", "exec")


def test_a_program_cannot_leave_a_comment_or_docstring():
    writer = Writer()
    writer.docstring('evil""" \\" \n import os')
    writer.docstring('ends with "', "and\\")
    writer.comment("a\nimport os\r\x0cimport os")
    assert "import os" not in [line.strip() for line in writer.text().split("\n")]
    compile(writer.text(), "text", "exec")
