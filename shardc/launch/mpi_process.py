"""What runs in every process of MPI: `python -m shardc.launch.mpi_process PROGRAM.py [--inputs …]`.

Each reads its block of every argument, and nothing else.
"""

from __future__ import annotations

import argparse
import io
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from shardc.arrays import Group, save
from shardc.arrays.loading import Blocks
from shardc.arrays.saving import check_layouts
from shardc.diagnostics import ShardcError
from shardc.launch.program import (
    arguments_of,
    describe,
    has_main_local,
    inputs_of,
    load_program,
    placed,
    results_of,
    saying,
)
from shardc.launch.rank import report
from shardc.runtime import Mesh


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program on this process's device; an error on any of them ends all."""
    from mpi4py import MPI

    show_lines()
    given = arguments(argv)
    world: Any = MPI.COMM_WORLD
    try:
        sys.argv = [given.program, *given.rest]
        if has_main_local(given.program):
            _run(load_program(given.program), world, given)
        else:
            runpy.run_path(given.program, run_name="__main__")
        return 0
    except ShardcError as error:
        print(error, file=sys.stderr, flush=True)
    except SystemExit as end:
        code = code_of(end)
        if not code:
            raise
        report(code)
        world.Abort(code)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
    report(1)
    world.Abort(1)
    return 1


def code_of(end: SystemExit) -> int:
    """The exit code that `sys.exit(…)` asked for; what is no number is printed, and is 1, as in Python."""
    if end.code is None or isinstance(end.code, int):
        return (end.code or 0) & 0xFF
    print(end.code, file=sys.stderr, flush=True)
    return 1


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments that every kind of process takes. What comes after -- is `rest`, for the program."""
    words, rest = split(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("program")
    parser.add_argument("--inputs")
    parser.add_argument("--outputs")
    parser.add_argument("--coordinator")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--process", type=int)
    return parser.parse_args(words, argparse.Namespace(rest=rest))


def show_lines() -> None:
    """What is printed goes out line by line, so that lines of several processes don't mix."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)  # also under PYTHONUNBUFFERED


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before the first --, and after it."""
    place = words.index("--") if "--" in words else len(words)
    return [*words[:place]], [*words[place + 1 :]]


def _run(module: ModuleType, world: Any, given: argparse.Namespace) -> None:
    mesh = Mesh(module.AXES, module.DEVICES) if module.AXES else None
    params, results = placed(module.PARAMS, mesh), placed(module.RESULTS, mesh)
    group = Group(world.rank, world.size, world.allgather)
    if given.outputs:
        group.agree(lambda: check_layouts(given.outputs, results))
    blocks: Blocks = {}
    group.agree(lambda: blocks.update(inputs_of(given.inputs, params, [world.rank], saying(world.rank))))
    local = {name: held[world.rank] for name, held in blocks.items()}
    found = results_of(module.main_local(*arguments_of(local)), results)
    if given.outputs:
        save(given.outputs, {name: {world.rank: block} for name, block in found.items()}, results, group)
    if world.rank == 0:
        print("\n".join(describe(results, f"{world.size} processes of MPI")), flush=True)


if __name__ == "__main__":
    sys.exit(main())
