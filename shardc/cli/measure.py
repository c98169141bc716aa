"""`shardc measure`: the links and devices of this machine, as a file for --machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from shardc.cli.ending import run_to_end
from shardc.cli.misuse import Parser, positive
from shardc.cli.run import run_here, run_processes
from shardc.diagnostics import ShardcError
from shardc.launch.cluster import starter
from shardc.planning.machines import load


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    given = _parser().parse_args(argv)
    return run_to_end("shardc measure", lambda: _measure(given))


def _measure(given: argparse.Namespace) -> int:
    try:
        if given.processes is not None and given.processes < 2 and not given.links:
            raise ShardcError("between fewer than two devices nothing is sent", hint="-n 8")
        if not Path(given.output).absolute().parent.is_dir():
            raise ShardcError(f"cannot write {given.output}: there is no such directory")
        if given.links:
            load(given.links)  # it is there, and right
        links = str(Path(given.links).absolute()) if given.links.endswith(".toml") else given.links
        return _started(given, str(Path(given.output).absolute()), links)
    except ShardcError as error:
        print(error, file=sys.stderr)
        return 1


def _started(given: argparse.Namespace, file: str, links: str) -> int:
    """On processes that are started here, in this one of those that somebody else has started, or in this one
    alone."""
    module = "shardc.launch.measure_mpi" if given.mpi else "shardc.launch.measure_jax"
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    words = [spec.origin, "--", file, *([links] if links else [])]
    if given.processes is not None:
        return run_processes(words, given.processes, 1, given.mpi, None)
    if starter() is not None:
        return run_here(words, given.mpi)
    if given.mpi:
        raise ShardcError("how many processes? -n says it", hint="shardc measure -n 8 --mpi -o FILE.toml")
    if find_spec("jax") is None:
        raise ShardcError("JAX is not installed", hint="pip install 'shardc[jax]', or measure with --mpi")
    import_module(module).measure_here(file, links)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="shardc measure",
        description="Times collectives, products and copies, and writes a file for --machine: with -n on "
        "processes of this machine; else on the accelerators that JAX sees, in this process or, started by "
        "Slurm, mpirun or a coordinator, in all of them.",
    )
    parser.add_argument(
        "-n", dest="processes", type=positive, metavar="N", help="how many processes of the CPU, one a device"
    )
    parser.add_argument("--mpi", action="store_true", help="of MPI, not JAX")
    parser.add_argument(
        "--links", default="", metavar="MACHINE", help="that machine's links: no collective is timed"
    )
    parser.add_argument("-o", dest="output", required=True, metavar="FILE.toml", help="where to write")
    return parser


if __name__ == "__main__":
    sys.exit(main())
