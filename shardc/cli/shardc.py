"""The `shardc` command: compile, print a stage, run on emulated devices, or check."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from shardc import __version__
from shardc.cli.ending import run_to_end
from shardc.diagnostics import Diagnostic, ShardcError, collecting
from shardc.options import FALLBACKS, OVERLAPS, TARGETS, Options

STAGES = ("ast", "ir", "sharded", "collectives", "local", "shard", "jax", "numpy", "mpi", "onnx")
FORMATS = ("text", "json")
_SPELLED = {"shardings": "--shard"}
"""Options whose name in the arguments is another."""
COMMANDS = {"run": "shardc.cli.run", "reshard": "shardc.cli.reshard", "measure": "shardc.cli.measure"}
"""First words that are no programs, and what they run; a program called run is ./run."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 1 for a wrong program or a wrong result, 2 for a misused command."""
    words = [*(sys.argv[1:] if argv is None else argv)]
    if words and words[0] in COMMANDS:
        return import_module(COMMANDS[words[0]]).main(words[1:])
    return run_to_end("shardc", lambda: _reported(*_arguments(words)))


def _reported(given: argparse.Namespace, options: Options) -> int:
    """Run the action, then print what it had to say."""
    problem: Diagnostic | None = None
    code = 0
    with collecting() as warnings:
        try:
            code = _act(given, options)
        except ShardcError as error:
            problem, code = error.diagnostic, 1
    for diagnostic in warnings:
        print(diagnostic, file=sys.stderr)
    if problem:
        print(problem, file=sys.stderr)
    return code


def _arguments(argv: Sequence[str] | None) -> tuple[argparse.Namespace, Options]:
    """The arguments, and the options of the compilation; exits with 2 if they have no meaning together."""
    parser = _parser()
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
    if given.links and not given.machine:
        parser.error("--links needs --machine")
    if given.output and (given.run or given.check):
        parser.error(f"-o writes a program, and {'--run' if given.run else '--check'} makes none")
    if not given.program.endswith(".onnx"):
        _refuse_models_options(parser, given)
    try:
        return given, _options(given)
    except ShardcError as error:
        parser.error(error.diagnostic.message)


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
        field.name: getattr(given, field.name) for field in fields(Options) if hasattr(given, field.name)
    }
    named["defines"] = dict(given.defines)
    return Options(**named)


def _act(given: argparse.Namespace, options: Options) -> int:
    from shardc.cli import driver

    options = replace(options, **driver.source_of(given.program))
    if not (given.run or given.check or given.cost) and given.prove is None and given.explain is None:
        from shardc.cli import compiling

        return compiling.compile(given, options)
    from shardc.cli import actions

    if given.run:
        return actions.run(given, options)
    if given.check:
        return actions.check(given, options)
    if given.prove is not None:
        return actions.prove(given, options)
    if given.explain is not None:
        return actions.explain(given, options)
    return actions.cost(given, options)


def _define(text: str) -> tuple[str, int]:
    if not re.fullmatch(r"[^=]+=-?[0-9]{1,29}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=NUMBER")
    name, _, value = text.partition("=")
    return name, int(value)


def _sharding(text: str) -> tuple[str, str]:
    name, equals, spec = text.partition("=")
    if not name or not equals or not spec:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form TENSOR=SPEC")
    return name, spec


def _devices(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9})*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of device numbers like 0,3")
    return tuple(map(int, text.split(",")))


def _links(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(axis and link for axis, _, link in pairs):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list like model=NVLink,data=InfiniBand")
    return {axis: link for axis, _, link in pairs}


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shardc",
        description="Compiles a sharded tensor program into the program each device runs.",
        epilog="shardc run --help, shardc reshard --help: programs on several processes, their checkpoints.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "program", metavar="PROGRAM", help="a .shard, .mlir or .onnx file, or - for text on standard input"
    )
    parser.add_argument("-o", dest="output", metavar="FILE", help="where to write; standard output otherwise")
    parser.add_argument("--target", choices=TARGETS, default="jax", help="what to compile to (default: jax)")
    parser.add_argument(
        "-D",
        dest="defines",
        metavar="NAME=NUMBER",
        type=_define,
        action="append",
        default=[],
        help="give a size of the program another value",
    )
    parser.add_argument(
        "--entry", metavar="NAME", help="the function to compile (default: main, else the last)"
    )
    parser.add_argument(
        "--fallback",
        choices=FALLBACKS,
        default="error",
        help="what to do with an operation that has no rule: stop (default), or gather its operands",
    )
    parser.add_argument(
        "--overlap",
        choices=OVERLAPS,
        default="off",
        help="let matrix products go on while their operands are gathered or their sums scattered: never "
        "(default), wherever it can be done, or where it is estimated to be quicker",
    )
    parser.add_argument(
        "--memory",
        metavar="BYTES",
        type=_count,
        help="the most that a device may hold at a time: weights are gathered again, results left split, and "
        "layouts changed in smaller steps as far as that takes, as cheaply as can be",
    )
    parser.add_argument(
        "--memory-limit",
        metavar="BYTES",
        type=_count,
        help="part of --memory: the most that a step of a tensor's change of layout may take on a device, "
        "operand and result",
    )
    parser.add_argument(
        "--regather",
        action="store_true",
        help="part of --memory: gather a weight again for the backward pass rather than keep it whole: "
        "less memory, more bytes sent",
    )
    parser.add_argument(
        "--combine",
        metavar="BYTES",
        type=_count,
        help="let all-reduces of up to so many bytes together be one, where they can wait for each other",
    )
    parser.add_argument(
        "--process-data",
        action="store_true",
        help="with JAX: let the program have main_local, which takes what each process holds",
    )
    parser.add_argument("--mesh", metavar="MESH", help='of an .onnx model, such as "pod[data=2, model=4]"')
    parser.add_argument(
        "--shard",
        dest="shardings",
        metavar="TENSOR=SPEC",
        type=_sharding,
        action="append",
        default=[],
        help="of an .onnx model: how a tensor lies on the mesh, in any notation that shardc-layout reads",
    )
    parser.add_argument(
        "--configuration", metavar="NAME", help="which of the device configurations of an .onnx model to use"
    )
    parser.add_argument(
        "--approximate",
        action="store_true",
        help="with --emit onnx: write layouts that ONNX cannot say as replicated, and list them",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--emit", choices=STAGES, help="stop after a stage and print it")
    action.add_argument("--check", action="store_true", help="only say whether the program is valid")
    action.add_argument(
        "--run",
        action="store_true",
        help="run on emulated devices in this process and compare with the single-device program",
    )
    action.add_argument(
        "--prove",
        metavar="FILE.json",
        nargs="?",
        const="",
        help="prove over exact arithmetic, at reduced shapes, that the per-device program equals the global "
        "one, and with --target numpy that the emitted text does; into the file goes a certificate, for "
        "shardc-check",
    )
    action.add_argument(
        "--explain",
        metavar="NAME",
        nargs="?",
        const="",
        help="why a tensor (its name, or the line that makes it) is split as it is; without a name: "
        "conflicts, and tensors left whole",
    )
    action.add_argument(
        "--cost",
        action="store_true",
        help="what each collective sends, why it is there and what annotation would remove it; memory, work",
    )
    parser.add_argument("--format", choices=FORMATS, help="with --explain and --cost: text (default) or json")
    parser.add_argument(
        "--machine",
        metavar="NAME|FILE.toml",
        help="plan for the least time on a machine, which --cost then states: balanced, bytes (work is free; "
        "default), tpu-v5e, tpu-v4p, h100-infiniband, laptop, or a file",
    )
    parser.add_argument(
        "--links",
        metavar="AXIS=LINK,…",
        type=_links,
        default={},
        help="with --machine: the links of mesh axes, like model=NVLink,data=InfiniBand (default: by the "
        "numbers of the devices)",
    )
    parser.add_argument(
        "--tries",
        metavar="N",
        type=_count,
        help="with --cost: how many changes of annotations to try for those that remove a collective "
        "(default: fewer, the larger the program; 0: none)",
    )
    parser.add_argument(
        "--trace",
        metavar="DEVICES",
        nargs="?",
        const=(0,),
        type=_devices,
        help="with --run: print every operation's blocks on these devices (like 0,3; default: 0), and stop "
        "at the first that differs from the single-device program",
    )
    parser.add_argument(
        "--inputs", metavar="FILE.npz", help="with --run: the arguments, by name (default: random)"
    )
    parser.add_argument("--outputs", metavar="FILE.npz", help="with --run: where to write the results")
    parser.add_argument(
        "--against",
        metavar="NAME|FILE.py:NAME",
        help="with --run and --prove: the function of the program that the entry is to equal, where it "
        "is per-device code; with --run also a NumPy or JAX function of a Python file",
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="compile anew; else what a text was compiled to is kept in the user's cache folder "
        "(SHARDC_CACHE=DIR: there; SHARDC_CACHE=off: nowhere)",
    )
    parser.add_argument("--version", action="version", version=f"shardc {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
