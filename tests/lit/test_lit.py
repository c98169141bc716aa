"""Runs the RUN lines of the files beside it, in this process: a pipeline costs milliseconds, not a start.

A line is a pipeline of shardc, shardc-opt and filecheck; `not` in front expects exit code 1, `2>&1` joins the
error stream, %s is the file. `shardc-opt` and `shardc` can be run by hand on every file just as it says.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from shardc.cli.opt import main as shardc_opt
from shardc.cli.shardc import main as shardc

HERE = Path(__file__).parent
FILES = sorted(path for suffix in ("*.mlir", "*.shard") for path in HERE.rglob(suffix))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HERE)))
def test_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line.split("RUN:", 1)[1].strip() for line in path.read_text().splitlines() if "RUN:" in line]
    assert lines, f"{path} has no RUN line"
    monkeypatch.chdir(path.parent)
    for line in lines:
        output = ""
        for command in line.split("|"):
            output = _command(command, path.name, output)


def _command(command: str, file: str, piped: str) -> str:
    words = [word.replace("%s", file) for word in shlex.split(command)]
    joined = "2>&1" in words
    words = [word for word in words if word != "2>&1"]
    failing = words[0] == "not"
    name, *args = words[1:] if failing else words
    if name == "filecheck":
        options = parse_argv_options(["filecheck", *args])
        matcher = Matcher(options, FInput("<pipe>", piped), Parser.from_opts(options))
        errors = io.StringIO()
        matcher.stderr = errors
        with redirect_stderr(errors):
            code = matcher.run()
        assert code == 0, f"{errors.getvalue()}\n--- the output was ---\n{piped}"
        return ""
    code, out, err = _run({"shardc": shardc, "shardc-opt": shardc_opt}[name], args, piped)
    assert code == int(failing), f"exit code {code} of {command}\n{err}{out}"
    return out + err if joined else out


def _run(main: Callable[[list[str]], int], args: list[str], piped: str) -> tuple[int, str, str]:
    out, err, stdin = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(piped.encode()), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(args)
    finally:
        sys.stdin = stdin
    return code, out.getvalue(), err.getvalue()


def test_there_are_files() -> None:
    assert FILES, f"no test files under {os.fspath(HERE)}"
