"""Programs that are too long are refused before they are parsed."""

from __future__ import annotations

import pytest

from shardc.diagnostics import ShardcError
from shardc.frontend.text import parse
from shardc.frontend.text.parser import MAX_LINES


def test_too_many_lines() -> None:
    lines = "    x = tanh(x)\n" * MAX_LINES
    with pytest.raises(ShardcError) as error:
        parse(f"def main(x: f32[8]):\n{lines}    return x\n", "long.shard")
    assert error.value.diagnostic.message == "a program has at most 100000 lines"
    assert error.value.diagnostic.loc.line == MAX_LINES + 1


def test_empty_lines_and_comments_do_not_count() -> None:
    program = parse("def main(x: f32[8]):\n" + "\n    # more\n" * MAX_LINES + "    return x\n", "long.shard")
    assert len(program.functions) == 1
