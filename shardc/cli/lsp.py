"""`shardc lsp`: a language server for editors, on standard input and output."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec

from shardc.cli.ending import run_to_end
from shardc.cli.misuse import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command until the editor ends it; its exit code."""
    _parser().parse_args(argv)
    return run_to_end("shardc lsp", _serve)


def _serve() -> int:
    if find_spec("pygls") is None:
        print("shardc lsp: error: pygls is not installed", file=sys.stderr)
        print("    note: pip install 'shardc[lsp]'", file=sys.stderr)
        return 1
    from shardc.editor.server import make_server

    taken, given = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with taken, given, redirect_stdout(sys.stderr):  # what is printed by mistake is no message
        make_server().start_io(taken, given)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="shardc lsp",
        description="A language server for .shard programs, which an editor starts: it speaks the language "
        "server protocol on standard input and output.",
    )
    parser.add_argument("--stdio", action="store_true", help="as it does anyway; some editors say so")
    return parser


if __name__ == "__main__":
    sys.exit(main())
