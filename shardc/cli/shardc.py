"""The `shardc` command: compile, print a stage, run on emulated devices, or check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from shardc import __version__
from shardc.explain.diagnostics import Diagnostic, ShardcError, collecting

STAGES = ("ast", "ir", "sharded", "collectives", "local", "shard", "jax", "numpy")
TARGETS = ("jax", "numpy")
FALLBACKS = ("error", "replicate")
OVERLAPS = ("off", "on", "auto")
FORMATS = ("text", "json")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 1 for a wrong program or a wrong result, 2 for a misused command."""
    options = _options(argv)
    problem: Diagnostic | None = None
    code = 0
    with collecting() as warnings:
        try:
            code = _dispatch(options)
        except ShardcError as error:
            problem, code = error.diagnostic, 1
    for diagnostic in warnings:
        print(diagnostic, file=sys.stderr)
    if problem:
        print(problem, file=sys.stderr)
    return code


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options; exits with 2 if some of them have no meaning together."""
    parser = _parser()
    options = parser.parse_args(argv)
    if (options.inputs or options.outputs) and not options.run:
        parser.error("--inputs and --outputs need --run")
    if options.trace is not None and not options.run:
        parser.error("--trace needs --run")
    if options.format and options.explain is None and not options.cost:
        parser.error("--format needs --explain or --cost")
    if options.machine and not options.cost and options.overlap != "auto":
        parser.error("--machine needs --cost or --overlap auto")
    if options.regather and options.explain is not None:
        parser.error("--explain tells the plan before weights are gathered again; leave out --regather")
    if options.tries is not None and not options.cost:
        parser.error("--tries needs --cost")
    if options.links and not options.machine:
        parser.error("--links needs --machine")
    if options.output and (options.run or options.check):
        parser.error(f"-o writes a program, and {'--run' if options.run else '--check'} makes none")
    return options


def _dispatch(options: argparse.Namespace) -> int:
    from shardc.cli import actions

    if options.run:
        return actions.run(options)
    if options.check:
        return actions.check(options)
    if options.explain is not None:
        return actions.explain(options)
    if options.cost:
        return actions.cost(options)
    return actions.compile(options)


def _define(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name or not value.lstrip("-").isdigit() or len(value) > 30:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=NUMBER")
    return name, int(value)


def _devices(text: str) -> tuple[int, ...]:
    if not all(part.isdigit() and len(part) < 10 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of device numbers like 0,3")
    return tuple(map(int, text.split(",")))


def _links(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(axis and link for axis, _, link in pairs):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list like model=NVLink,data=InfiniBand")
    return {axis: link for axis, _, link in pairs}


def _count(text: str) -> int:
    if not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shardc",
        description="Compiles a sharded tensor program into the program each device runs.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "program", metavar="PROGRAM", help="a .shard or .mlir file, or - for .shard on standard input"
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
        "--memory-limit",
        metavar="BYTES",
        type=int,
        help="the most that a step of a tensor's change of layout may take on a device, operand and result",
    )
    parser.add_argument(
        "--regather",
        action="store_true",
        help="gather a weight again for the backward pass rather than keep the whole of it: less memory, "
        "more bytes sent",
    )
    parser.add_argument(
        "--combine",
        metavar="BYTES",
        type=_count,
        help="let all-reduces of up to so many bytes together be one, where they can wait for each other",
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
        help="with --cost: the time on a machine; with --overlap auto: where it is to be quicker; tpu-v5e, "
        "tpu-v4p, h100-infiniband, laptop, or a file",
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
    parser.add_argument("--version", action="version", version=f"shardc {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
