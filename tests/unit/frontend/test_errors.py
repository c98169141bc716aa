"""Wrong programs and the exact text of every error: errors.txt has a program, then what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.diagnostics import ShardcError, collecting
from shardc.frontend.text import read

CASES = [
    block.split("\n", 1) for block in (Path(__file__).parent / "errors.txt").read_text().split("=== ")[1:]
]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[name for name, _ in CASES])
def test_error(name: str, case: str) -> None:
    """One program, one error."""
    source, expected = case.split("---\n")
    with pytest.raises(ShardcError) as caught:
        read(source, "p.shard")
    assert str(caught.value).rstrip() == expected.rstrip()


def test_lines_that_end_in_carriage_returns() -> None:
    with pytest.raises(ShardcError, match=r"'\\r' has no meaning here") as caught:
        read("def f(x: f32[4]):\r    return x\r", "p.shard")
    assert str(caught.value).startswith("p.shard:1:18: ") and "lines end in a line feed" in str(caught.value)
    read("def f(x: f32[4]):\r\n    return x\r\n", "p.shard")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("(" * 5000 + "x" + ")" * 5000, "brackets are nested more than 100 deep"),
        ("-" * 5000 + "x", "this expression is nested more than 100 deep"),
        ("x" + ".T" * 5000, "this expression is nested more than 100 deep"),
        ("2 ** " * 5000 + "x", "this expression is nested more than 100 deep"),
        ("x[" * 101 + "0" + "]" * 101, "brackets are nested more than 100 deep"),
        ("9" * 5000, "this number has more than 400 digits"),
        ("x + 9" + "9" * 390, "does not fit into f32"),
        ("x + 2 ** 3 ** 4 ** 5", "this number is too large"),
        ("arange(10 ** 18)", "more than 2^48 elements"),
        ("zeros((10 ** 18, 10 ** 18))", "more than 2^48 elements"),
        ("arange(10 ** 400, 0.5)", "arange has no end"),
        ("arange(inf)", "arange has no end"),
        ("exp(10 ** 400)", "does not fit into f32"),
        ("pad(x, 10 ** 18)", "pad reaches over dimension 0 of f32[4] by more than 2^31 elements"),
        ("expand(x, (10 ** 18, -1))", "more than 2^48 elements"),
        ("one_hot(array(1), 10 ** 18)", "more than 2^48 elements"),
    ],
)
def test_bounds(expression: str, message: str) -> None:
    """Absurd programs are errors at a place, and cost nothing."""
    with pytest.raises(ShardcError) as caught:
        read(f"def f(x: f32[4]):\n    return {expression}\n", "p.shard")
    assert message in caught.value.diagnostic.message
    assert caught.value.diagnostic.loc.line == 2


def test_long_chains_are_fine() -> None:
    """A chain of operators is no nesting, however long."""
    read("def f(x: f32[4]):\n    return x" + " + x" * 3000 + "\n", "p.shard")
    read("def f(x: f32[" + "1 + " * 3000 + "1]):\n    return x\n", "p.shard")


@pytest.mark.parametrize("wrap", ["relu({})", "-{}", "where(b, x, {})", "x @ {}.T"])
def test_the_depth_that_is_allowed(wrap: str) -> None:
    """What is not too deep is compiled: nothing here runs out of stack."""
    expression = "x"
    for _ in range(49 if "T" in wrap else 98):
        expression = wrap.format(f"({expression})" if "T" in wrap else expression)
    read(f"def f(x: f32[4, 4], b: bool[4, 4]):\n    return {expression}\n", "p.shard").verify()


def _nested_loops(depth: int) -> str:
    header = "".join("    " * (i + 1) + f"for i{i} in range(2) carrying x:\n" for i in range(depth))
    return "def f(x: f32[4]):\n" + header + "    " * (depth + 1) + "x = x + 1\n    return x\n"


def test_nested_loops_are_bounded() -> None:
    read(_nested_loops(16), "p.shard").verify()
    with pytest.raises(ShardcError, match="blocks are nested more than 16 deep"):
        read(_nested_loops(17), "p.shard")


@pytest.mark.parametrize(
    ("defines", "text"),
    [
        ({"A": 1}, "shardc: error: -D A=1: the program has no size A\n    note: the sizes are BATCH"),
        (
            {"BATCHES": 1},
            "shardc: error: -D BATCHES=1: the program has no size BATCHES\n    note: did you mean BATCH?",
        ),
        ({"BATCH": -1}, "shardc: error: -D BATCH=-1: a size is at least 0"),
    ],
)
def test_defines(defines: dict[str, int], text: str) -> None:
    with pytest.raises(ShardcError) as caught:
        read("size BATCH = 4\ndef f(x: f32[BATCH]):\n    return x\n", "p.shard", defines)
    assert str(caught.value) == text


def test_unknown_entry() -> None:
    with pytest.raises(ShardcError) as caught:
        read("def f(x: f32[4]):\n    return x\n", "p.shard", entry="g")
    assert str(caught.value) == "shardc: error: the program has no function g\n    note: the functions are f"


def test_uneven_dimension_is_a_warning() -> None:
    """In a global type an uneven dimension has padded blocks, and the warning says what that costs."""
    with collecting() as warnings:
        read("mesh pod[x=4]\ndef f(x: f32[10@x]):\n    return x\n", "p.shard")
    assert [str(warning) for warning in warnings] == [
        "p.shard:2:14: warning: x (4 devices) does not divide dimension 0 of f32[10]:"
        " blocks have size 3, and 2 of 12 places are padding\n"
        "    def f(x: f32[10@x]):\n"
        "                 ^"
    ]
