"""Programs that are too long are refused before they are parsed, or while they are built."""

from __future__ import annotations

import pytest

from shardc.diagnostics import ShardcError
from shardc.frontend.read import read
from shardc.frontend.text import emitter, parse
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


def test_unrolled_loops_are_refused_where_they_become_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "MOST", 1000)
    loops = "    for i in range(4000):\n        for j in range(4000):\n            x = -x\n"
    with pytest.raises(ShardcError) as error:
        read(f"def main(x: f32[8]):\n{loops}    return x\n", Options(file="loops.shard", language="shard"))
    assert error.value.diagnostic.message == "a function has more than 1000 operations"
    assert (error.value.diagnostic.loc.file, error.value.diagnostic.loc.line) == ("loops.shard", 4)


def test_operations_count_for_their_function_and_not_for_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "MOST", 100)
    lines = "    x = -x\n" * 40
    functions = "".join(f"def {name}(x: f32[]):\n{lines}    return x\n\n" for name in ("f", "g"))
    main = "def main(x: f32[]):\n    d = grad(f)(x)\n    return f(g(d))\n"
    module = read(functions + main, Options(file="drafts.shard", language="shard"))
    assert sum(op.name == "stablehlo.negate" for op in module.walk()) >= 80
