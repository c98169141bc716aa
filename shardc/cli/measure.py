"""`shardc measure`: the links and devices of this machine, as a file for --machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from shardc.cli.ending import run_to_end
from shardc.cli.run import run_processes
from shardc.diagnostics import ShardcError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    given = _parser().parse_args(argv)
    return run_to_end("shardc measure", lambda: _measure(given))


def _measure(given: argparse.Namespace) -> int:
    module = "shardc.launch.measure_mpi" if given.mpi else "shardc.launch.measure_jax"
    try:
        if given.processes < 2:
            raise ShardcError("between fewer than two devices nothing is sent", hint="-n 8")
        if not Path(given.output).absolute().parent.is_dir():
            raise ShardcError(f"cannot write {given.output}: there is no such directory")
        spec = find_spec(module)
        assert spec is not None and spec.origin is not None
        words = [spec.origin, "--", str(Path(given.output).absolute())]
        return run_processes(words, given.processes, 1, given.mpi, None)
    except ShardcError as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shardc measure",
        description="Times collectives, products and copies on processes of this machine, and writes a file "
        "for --machine.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-n", dest="processes", type=int, required=True, metavar="N", help="how many processes, one a device"
    )
    parser.add_argument("--mpi", action="store_true", help="of MPI, not JAX")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE.toml", help="where to write")
    return parser


if __name__ == "__main__":
    sys.exit(main())
