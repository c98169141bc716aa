"""The `shardc` command: compile, print a stage, run on emulated devices, or check."""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from shardc import cache
from shardc.cli.ending import run_to_end
from shardc.cli.parser import parser as arguments
from shardc.collector import no_garbage_collection
from shardc.diagnostics import Diagnostic, ShardcError, collecting, listed
from shardc.options import Options

_APART = ("layout", "opt", "check")
"""What comes after shardc- in the names of other commands."""

_SPELLED = {"shardings": "--shard"}
"""Options whose name in the arguments is another."""
_THREADS = "OPENBLAS_NUM_THREADS"
"""How many threads NumPy has for products of matrices, one per processor if nothing is said. Each that is
started waits some hundredths of a second for work, busily, and in the small products of proofs they wait for
each other, at twice the time. Only a run on emulated devices has large ones.
"""
COMMANDS = {
    "fmt": "shardc.cli.fmt",
    "lsp": "shardc.cli.lsp",
    "measure": "shardc.cli.measure",
    "reshard": "shardc.cli.reshard",
    "run": "shardc.cli.run",
}
"""First words that are no programs, and what they run; a program called run is ./run."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 1 for a wrong program or a wrong result, 2 for a misused command."""
    words = [*(sys.argv[1:] if argv is None else argv)]
    if words and words[0] in COMMANDS:
        return import_module(COMMANDS[words[0]]).main(words[1:])
    if words and re.fullmatch(r"[a-z]+", words[0]) and not Path(words[0]).exists():
        apart = f"shardc-{words[0]} is a command of its own" if words[0] in _APART else None
        note = apart or listed(words[0], COMMANDS, "programs are files; the commands are")
        arguments().error(f"there is no command {words[0]}", note)
    ends = argv is None
    code = run_to_end("shardc", lambda: _reported(*_arguments(words), ends))
    if ends:
        gc.freeze()  # to look for garbage once more is a tenth of a small compilation
    return code


def _reported(given: argparse.Namespace, options: Options, ends: bool) -> int:
    """Run the action, then print what it had to say. ends: nothing follows it in this process."""
    problem: Diagnostic | None = None
    code = 0
    with collecting() as warnings:
        try:
            code = _act(given, options, ends)
        except ShardcError as error:
            problem, code = error.diagnostic, 1
    for diagnostic in warnings:
        print(diagnostic, file=sys.stderr)
    if problem:
        print(problem, file=sys.stderr)
    return code


def _arguments(argv: Sequence[str] | None) -> tuple[argparse.Namespace, Options]:
    """The arguments, and the options of the compilation; exits with 2 if they have no meaning together."""
    parser = arguments()
    given = parser.parse_args(argv)
    if (given.inputs or given.outputs) and not given.run:
        parser.error("--inputs and --outputs need --run")
    if given.trace is not None and not given.run:
        parser.error("--trace needs --run")
    if given.format and given.explain is None and not given.cost:
        parser.error("--format needs --explain or --cost")
    if given.memory is not None and given.explain is not None:
        parser.error("--explain tells the plan before memory is bounded; leave out --memory")
    if given.regather and given.explain is not None:
        parser.error("--explain tells the plan before weights are gathered again; leave out --regather")
    if given.against and given.prove is None and not given.run:
        parser.error("--against needs --run or --prove")
    if given.against and given.prove is not None and ":" in given.against:
        parser.error("--prove --against takes a function of the program, not one of Python")
    if given.against and ":" not in given.against and given.program == "-":
        parser.error("--against needs a program in a file, which it reads once more")
    if given.tries is not None and not given.cost:
        parser.error("--tries needs --cost")
    if given.process_data and given.target != "jax":
        parser.error("--process-data is for --target jax")
    if given.links and not given.machine:
        parser.error("--links needs --machine")
    if given.output and (given.run or given.check):
        parser.error(f"-o writes a program, and {'--run' if given.run else '--check'} makes none")
    if given.program.endswith(".onnx"):
        _refuse_two_shardings(parser, given)
    else:
        _refuse_models_options(parser, given)
    try:
        return given, _options(given)
    except ShardcError as error:
        parser.error(error.diagnostic.message)


def _refuse_two_shardings(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Exit with 2 if --shard says two things of a tensor."""
    names = [name for name, _ in given.shardings]
    for name in names:
        if names.count(name) > 1:
            parser.error(f"--shard says how {name} lies more than once")


def _refuse_models_options(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Exit with 2 if a program that is no model has options of models."""
    for option in ("mesh", "shardings", "configuration", "approximate"):
        if getattr(given, option):
            parser.error(f"{_SPELLED.get(option, '--' + option)} is for .onnx models")
    if given.emit == "onnx":
        parser.error("--emit onnx writes a model that was read; the program is none")


def _options(given: argparse.Namespace) -> Options:
    """The options of the compilation. ShardcError for a value that has no meaning."""
    named: dict[str, Any] = {
        field: getattr(given, field) for field in Options.__struct_fields__ if hasattr(given, field)
    }
    named["defines"] = dict(given.defines)
    return Options(**named)


def _act(given: argparse.Namespace, options: Options, ends: bool) -> int:
    if ends and not given.run:
        os.environ.setdefault(_THREADS, "1")
    from shardc.cli import driver

    options = replace(options, **driver.source_of(given.program))
    token = cache.ANEW.set(given.no_cache)
    try:
        return _chosen(given, options, ends)
    finally:
        cache.ANEW.reset(token)


def _chosen(given: argparse.Namespace, options: Options, ends: bool) -> int:
    """Run the action that the arguments name."""
    if not (given.run or given.check or given.cost) and given.prove is None and given.explain is None:
        from shardc.cli import compiling

        with no_garbage_collection(kept=ends):
            return compiling.compile(given, options)
    with no_garbage_collection():
        from shardc.cli import actions

    if given.run:
        return actions.run(given, options)
    if given.check:
        with no_garbage_collection(kept=ends):
            return actions.check(given, options)
    if given.prove is not None:
        with no_garbage_collection():
            return actions.prove(given, options)
    if given.explain is not None:
        return actions.explain(given, options)
    return actions.cost(given, options)


if __name__ == "__main__":
    sys.exit(main())
