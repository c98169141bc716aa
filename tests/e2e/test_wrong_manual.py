"""Wrong per-device programs and the exact text of each error or warning: wrong_manual.txt has both."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardc
from shardc.diagnostics import ShardcError

CASES = [
    block.split("\n", 1)
    for block in (Path(__file__).parent / "wrong_manual.txt").read_text().split("=== ")[1:]
]


def told(source: str) -> str:
    """What is said of a program: the error, or else the warnings."""
    language = "mlir" if "func.func" in source else "shard"
    try:
        program = shardc.compile(source, file=f"p.{language}")
    except ShardcError as error:
        return str(error)
    return "\n".join(map(str, program.warnings))


@pytest.mark.parametrize(("name", "case"), CASES, ids=[name for name, _ in CASES])
def test_text(name: str, case: str) -> None:
    source, expected = case.split("---\n")
    assert told(source).rstrip() == expected.rstrip()
