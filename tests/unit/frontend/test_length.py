"""Programs that are too long are refused before they are parsed, or while they are built."""

from __future__ import annotations

import pytest

from shardc.diagnostics import ShardcError
from shardc.frontend.read import language_of, read
from shardc.frontend.text import emitter, loops, parse
from shardc.frontend.text.indentation import MAX_OPERATORS
from shardc.frontend.text.parser import MAX_LINES
from shardc.options import Options


def test_too_many_lines() -> None:
    lines = "    x = tanh(x)\n" * MAX_LINES
    with pytest.raises(ShardcError) as error:
        parse(f"def main(x: f32[8]):\n{lines}    return x\n", "long.shard")
    assert error.value.diagnostic.message == "a program has at most 100000 lines"
    assert error.value.diagnostic.loc.line == MAX_LINES + 1


def test_empty_lines_and_comments_do_not_count() -> None:
    program = parse("def main(x: f32[8]):\n" + "\n    # more\n" * MAX_LINES + "    return x\n", "long.shard")
    assert len(program.functions) == 1


def test_empty_lines_are_looked_at_once() -> None:
    """The time grows with the lines, not with their square, which would be an hour here."""
    assert language_of("\n" * 1_000_000 + "x") == "shard"
    assert language_of("\n" * 1_000_000 + "\t module @m {") == "mlir"


def test_unrolled_loops_are_refused_where_they_become_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "MOST", 1000)
    text = "    for i in range(4000):\n        for j in range(4000):\n            x = -x\n"
    with pytest.raises(ShardcError) as error:
        read(f"def main(x: f32[8]):\n{text}    return x\n", Options(file="loops.shard", language="shard"))
    assert error.value.diagnostic.message == "a function has more than 1000 operations"
    assert (error.value.diagnostic.loc.file, error.value.diagnostic.loc.line) == ("loops.shard", 4)


def test_a_statement_of_too_many_operators_is_refused_where_it_has_them() -> None:
    chain = " + ".join(["x"] * (MAX_OPERATORS + 2))
    with pytest.raises(ShardcError) as error:
        parse(f"def main(x: f32[8]):\n    return {chain}\n", "long.shard")
    assert error.value.diagnostic.message == "a statement has at most 20000 operators"
    assert (error.value.diagnostic.loc.line, error.value.diagnostic.loc.col) == (2, 14 + 4 * MAX_OPERATORS)


def test_operators_count_for_their_statement() -> None:
    line = "    x = " + " + ".join(["x"] * 9_000) + "\n"
    program = parse(f"def main(x: f32[8]):\n{line * 3}    return x\n", "long.shard")
    assert len(program.functions[0].body) == 4


def test_signs_are_no_operators() -> None:
    numbers = ", ".join(["-1.0"] * (MAX_OPERATORS + 1))
    program = parse(f"def main(x: f32[8]):\n    c = [{numbers}]\n    return x\n", "long.shard")
    assert len(program.functions[0].body) == 2


def test_turns_of_loops_in_each_other_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MAX_TURNS", 12)
    once = "    for i in range(3):\n        for j in range(3):\n            x = -x\n"
    options = Options(file="loops.shard", language="shard")
    read(f"def main(x: f32[8]):\n{once}{once}    return x\n", options)
    with pytest.raises(ShardcError) as error:
        read(f"def main(x: f32[8]):\n{once.replace('j in range(3)', 'j in range(4)')}    return x\n", options)
    assert error.value.diagnostic.message == "unrolled loops in each other have more than 12 turns"
    assert error.value.diagnostic.loc.line == 3


def test_operations_count_for_their_function_and_not_for_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "MOST", 100)
    lines = "    x = -x\n" * 40
    functions = "".join(f"def {name}(x: f32[]):\n{lines}    return x\n\n" for name in ("f", "g"))
    main = "def main(x: f32[]):\n    d = grad(f)(x)\n    return f(g(d))\n"
    module = read(functions + main, Options(file="drafts.shard", language="shard"))
    assert sum(op.name == "stablehlo.negate" for op in module.walk()) >= 80
