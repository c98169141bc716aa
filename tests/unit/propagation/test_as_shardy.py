"""shardc-opt prints what jaxlib's Shardy prints, line by line: all of as_shardy/, by every RUN line of it.

Without -split-input-file each function is a module of its own, with the meshes before the first one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from shardc.cli.opt import main
from tests.pinned import with_pinned_jax

FILES = sorted((Path(__file__).parent / "as_shardy").glob("*.mlir"))
SPLIT = "-split-input-file"


def command_lines(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"^// RUN: (.*)$", text, re.MULTILINE)]


def modules(text: str, split: bool) -> Iterator[str]:
    if split:
        yield from re.split(r"^// -----.*\n", text, flags=re.MULTILINE)
        return
    head = text[: text.index("func.func")]
    for function in re.findall(r"^func\.func.*?^}\n", text, re.DOTALL | re.MULTILINE):
        yield head + function


def passes(arguments: list[str]) -> list[str]:
    """The flags as a pipeline's passes."""
    flags = (argument.lstrip("-").partition("=") for argument in arguments if argument != SPLIT)
    return [f"{name}{{{options}}}" if options else name for name, _, options in flags]


@with_pinned_jax
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_prints_the_same(
    file: Path, shardy: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = file.read_text()
    for arguments in command_lines(text):
        for module in modules(text, SPLIT in arguments):
            theirs = shardy.run_each(module, passes(arguments))
            (tmp_path / "in.mlir").write_text(module)
            code = main([str(tmp_path / "in.mlir"), *(a for a in arguments if a != SPLIT)])
            printed, said = capsys.readouterr()
            assert code == 0, said
            assert printed.strip() == theirs.strip(), (arguments, module)
