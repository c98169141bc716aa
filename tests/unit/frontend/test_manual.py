"""Every example of the reference manual is compiled; the wrong ones say what the manual says they do."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from shardc.diagnostics import ShardcError
from shardc.frontend.text import parse, read
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.generic import is_generic

MANUAL = Path(str(files("shardc.grammar"))) / "README.md"
TEXT = MANUAL.read_text(encoding="utf-8")
RIGHT = re.findall(r"```shard\n(.*?)```", TEXT, re.DOTALL)
WRONG = re.findall(r"```shard error\n(.*?)```\n+```\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("source", RIGHT)
def test_example(source: str) -> None:
    """A right example compiles, with each of its functions that can be as the entry, and verifies."""
    program = parse(source, "f.shard")
    records = {record.name: record for record in program.records}
    sizes = {declared.name: declared for declared in (*program.sizes, *program.constants)}
    read(source, "f.shard").verify()
    for function in program.functions:
        per_device = function.decorator is not None and function.decorator.name == "per_device"
        if not per_device and not is_generic(function, records, sizes):
            read(source, "f.shard", entry=function.name).verify()


@pytest.mark.parametrize(("source", "expected"), WRONG)
def test_wrong_example(source: str, expected: str) -> None:
    with pytest.raises(ShardcError) as caught:
        read(source, "f.shard")
    assert str(caught.value) == expected.rstrip()


def test_every_function_is_listed() -> None:
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    listed = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert [name for name in BUILTINS if name not in listed] == []
