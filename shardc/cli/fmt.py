"""`shardc fmt`: programs as they are to be written, in their files or on standard output."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from shardc.cli import driver
from shardc.cli.ending import run_to_end
from shardc.cli.misuse import Parser
from shardc.diagnostics import Diagnostic, ShardcError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 1 for a wrong program, or one that --check or --diff would change."""
    given = _parser().parse_args(argv)
    return run_to_end("shardc fmt", lambda: _format(given))


def _format(given: argparse.Namespace) -> int:
    code = 0
    for path in given.files or ["."]:
        try:
            for file in _programs(path):
                code |= _one(given, file)
        except ShardcError as error:
            print(error, file=sys.stderr)
            code = 1
    return code


def _programs(path: str) -> Iterator[str]:
    """A file, or the programs in a folder and the folders in it that are not hidden."""
    if path == "-" or not Path(path).is_dir():
        if driver.source_of(path).get("language", "shard") != "shard":
            raise ShardcError(f"{path} is no .shard program", hint="shardc fmt formats .shard files")
        yield path
        return
    found = False
    for folder, inner, names in os.walk(path):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        programs = [os.path.join(folder, name) for name in sorted(names) if name.endswith(".shard")]
        found = found or bool(programs)
        yield from programs
    if not found:
        print(Diagnostic("warning", f"there are no .shard programs in {path}"), file=sys.stderr)


def _one(given: argparse.Namespace, path: str) -> int:
    """Format a program; 1 if it is wrong, or if it would change and that is the question."""
    from shardc.formatter import formatted

    name = driver.source_of(path).get("file", path)
    try:
        text = driver.read_text(path)
        made = formatted(text, name)
        if given.diff:
            sys.stdout.writelines(_difference(text, made, name))
        if given.check and made != text:
            print(f"would format {name}", file=sys.stderr)
        if given.check or given.diff:
            return int(made != text)
        if path == "-":
            sys.stdout.write(made)
        elif made != text:
            driver.write_text(path, made)
            print(f"formatted {path}", file=sys.stderr)
    except ShardcError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _difference(old: str, new: str, name: str) -> Iterator[str]:
    for line in unified_diff(old.splitlines(True), new.splitlines(True), name, f"{name}, formatted"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="shardc fmt",
        description="Writes .shard programs in one style: spaces, indentation, line breaks, blank lines.",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="programs, folders with programs, or - for standard input (default: the folder you are in)",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a file would change"
    )
    parser.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    return parser


if __name__ == "__main__":
    sys.exit(main())
