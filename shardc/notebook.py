"""Programs in the cells of a notebook: `%load_ext shardc`, then cells that begin with `%%shard`.

%%shard mlp --target numpy -D B=64
mesh pod[data=2, model=4]
…

compiles the cell and shows the emitted program and the table of its collectives; `mlp` is then what
shardc.compile returns: mlp.main(x, w) runs it. Lines are those of the cell, `%%shard` is the first. Needs
IPython.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from html import escape
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.display import Code
from msgspec import Struct

from shardc.api import Program, compile, cost
from shardc.diagnostics import ShardcError
from shardc.options import OVERLAPS, TARGETS, Options
from shardc.report import show
from shardc.report.cost import Cost
from shardc.report.traffic import Collective

CELL = "cell"
"""What errors call the text of a cell."""


class Compiled(Struct, frozen=True):
    """A cell's program, as a notebook or a terminal shows it."""

    program: Program
    cost: Cost

    def __repr__(self) -> str:
        """The emitted program, the warnings, and what `--cost` prints."""
        parts = [self.program.source, *map(str, self.program.warnings), show.text(self.cost)]
        return "\n".join(part.rstrip("\n") + "\n" for part in parts)

    def _repr_html_(self) -> str:
        shown: Any = Code(self.program.source, language="python")
        code: str = shown._repr_html_()
        warnings = "".join(f"<pre>{escape(str(one))}</pre>" for one in self.program.warnings)
        head, tail = ("\n".join(part(self.cost)) for part in (show.head, show.tail))
        table = _table(show.columns(self.cost), [*show.rows(self.cost)]) if self.cost.collectives else ""
        notes = "".join(_notes(self.cost, one) for one in self.cost.collectives)
        found = f"<pre>{escape(head)}</pre>{table}<ul>{notes}</ul><pre>{escape(tail)}</pre>"
        return f"{code}{warnings}{found}"


def _notes(cost: Cost, entry: Collective) -> str:
    said = "; ".join(show.notes(cost, entry))
    return f"<li>{escape(show.title(entry))} in {escape(entry.where)}: {escape(said)}</li>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def compiled(line: str, cell: str) -> tuple[str | None, Compiled]:
    """What a cell compiles to, and the name that it is to have. UsageError if it is wrong."""
    try:
        given = _parser().parse_args(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"%%shard: {error}") from None
    text = f"\n{cell}"  # below %%shard, which is the first line that people see
    try:
        options = Options(
            file=CELL,
            defines=dict(given.defines),
            entry=given.entry,
            machine=given.machine,
            memory=given.memory,
            overlap=given.overlap,
            target=given.target,
        )
        return given.name, Compiled(compile(text, options), cost(text, options, tries=given.tries))
    except ShardcError as error:
        raise UsageError(str(error)) from None


class _Parser(argparse.ArgumentParser):
    """One that tells the notebook what is wrong, and ends nothing."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%shard: {message}")


def _define(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=NUMBER")
    return name, int(value)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%shard", add_help=False, allow_abbrev=False)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--target", choices=TARGETS, default="jax")
    parser.add_argument(
        "-D", dest="defines", metavar="NAME=NUMBER", type=_define, action="append", default=[]
    )
    parser.add_argument("--entry", metavar="NAME")
    parser.add_argument("--machine", metavar="NAME|FILE.toml")
    parser.add_argument("--memory", metavar="BYTES", type=int)
    parser.add_argument("--overlap", choices=OVERLAPS, default="off")
    parser.add_argument("--tries", metavar="N", type=int)
    return parser


def load(shell: Any) -> None:
    """Give an InteractiveShell of IPython the magic."""

    def shard(line: str, cell: str) -> Compiled:
        """Compile a program; see shardc.notebook."""
        name, made = compiled(line, cell)
        if name is not None:
            shell.push({name: made.program})
        return made

    shell.register_magic_function(shard, "cell", "shard")
