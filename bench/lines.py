"""Lines of emitted code per operation of the input, of the programs whose emitted texts are kept.

    python -m bench.lines [--before COMMIT] [--write]

Programs are those that JAX lowers: the benchmark's suites and the corpus. Operations are those of the text
that JAX prints. Lines are those of the emitted JAX program in which a person reads what devices compute:
`device_main` and the functions that it calls, without comments, docstrings and empty lines; not `main`,
`mesh` and what runs the file as a script. Texts are read from tests/golden/kept, so what is measured is
what the tests compare; with --before COMMIT also as that commit has them, and programs that it has not are
left out of both.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from bench.page import publish

ROOT = Path(__file__).parents[1]
KEPT = "tests/golden/kept"
RESULT = ROOT / "bench/results/lines.md"
AROUND = {"main", "main_local", "mesh", "emulate_devices"}
"""Functions that are alike in all programs."""

SETS = {
    "the benchmark's programs": ("bench/", ""),
    "of these, training steps": ("bench/", "train"),
    "the corpus": ("corpus/", ""),
}
"""What the beginning of a name and a word in it say of a program."""


class Row(Struct, frozen=True):
    """One program: operations of the input, lines now and before."""

    operations: int
    now: int
    before: int | None


def lines(text: str) -> int:
    """The lines of code in an emitted program that are its own."""
    tree, count = ast.parse(text), 0
    rows = text.splitlines()
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name in AROUND:
            continue
        docstring = ast.get_docstring(node) is not None
        first = (node.body[0].end_lineno or 0) if docstring else node.lineno
        own = rows[first : node.end_lineno]
        count += 1 + sum(bool(row.strip()) and not row.lstrip().startswith("#") for row in own)
    return count


def operations(text: str) -> int:
    """The operations of a module as JAX prints it."""
    return sum(" = " in row or row.lstrip().startswith("return") for row in text.splitlines())


def kept(commit: str | None) -> dict[str, str]:
    """The emitted JAX texts by name, now or at a commit."""
    end = ".jax.txt"
    if commit is None:
        folder = ROOT / KEPT
        paths = folder.rglob(f"*{end}")
        return {str(p.relative_to(folder)).removesuffix(end): p.read_text("utf-8") for p in paths}
    listed = _git("ls-tree", "-r", "--name-only", commit, KEPT).splitlines()
    names = [path for path in listed if path.endswith(end)]
    return {
        path.removeprefix(f"{KEPT}/").removesuffix(end): _git("show", f"{commit}:{path}") for path in names
    }


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def measure(commit: str | None) -> dict[str, Row]:
    """The programs that JAX lowers, by name."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
    from tests.golden.programs import every

    programs, now = every(), kept(None)
    before: Mapping[str, str] | None = None if commit is None else kept(commit)
    names = [name for name in sorted(now) if name in programs and name.startswith(("bench/", "corpus/"))]
    if before is not None:
        names = [name for name in names if name in before]
    return {
        name: Row(
            operations(programs[name]()[0]),
            lines(now[name]),
            None if before is None else lines(before[name]),
        )
        for name in names
    }


def table(rows: Mapping[str, Row]) -> Iterator[str]:
    """Each set together, then the programs with most operations."""
    yield "| programs | count | operations | lines before | lines | per operation before | per operation |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for title, (folder, word) in SETS.items():
        of = [row for name, row in rows.items() if name.startswith(folder) and word in name]
        yield f"| {title} | {len(of)} | {_cells(of)} |"
    yield ""
    yield "| largest programs | operations | lines before | lines | per operation before | per operation |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name in sorted(rows, key=lambda name: -rows[name].operations)[:12]:
        yield f"| {name.partition('/')[2]} | {_cells([rows[name]])} |"


def _cells(rows: list[Row]) -> str:
    total, now = sum(row.operations for row in rows), sum(row.now for row in rows)
    known = [row.before for row in rows if row.before is not None]
    before = [str(sum(known)), f"{sum(known) / total:.2f}"] if known else ["–", "–"]
    return f"{total} | {before[0]} | {now} | {before[1]} | {now / total:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--write", action="store_true", help=f"into {RESULT.relative_to(ROOT)}")
    options = parser.parse_args()
    publish("Lines per operation", __doc__, table(measure(options.before)), RESULT if options.write else None)


if __name__ == "__main__":
    main()
