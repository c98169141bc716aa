"""The arguments of the `shardc` command."""

from __future__ import annotations

import argparse
import re

from shardc import __version__
from shardc.cli.misuse import Parser, size_in_bytes
from shardc.options import BEST, COMMENTS, FALLBACKS, OVERLAPS, TARGETS

STAGES = ("ast", "ir", "sharded", "collectives", "local", "shard", "jax", "numpy", "mpi", "onnx")
FORMATS = ("text", "json")


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


def _links(text: str) -> dict[str, str] | str:
    if text == BEST:
        return text
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(axis and link for axis, _, link in pairs):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list like model=NVLink,data=InfiniBand, nor {BEST}"
        )
    return {axis: link for axis, _, link in pairs}


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return int(text)


def parser() -> Parser:
    """The options of the command, each with its help."""
    made = Parser(
        prog="shardc",
        description="Compiles a sharded tensor program into the program each device runs.",
        epilog="shardc run --help, shardc reshard --help: programs on several processes, their checkpoints; "
        "shardc fmt --help: the formatter; shardc lsp --help: the language server.",
    )
    made.add_argument(
        "program", metavar="PROGRAM", help="a .shard, .mlir or .onnx file, or - for text on standard input"
    )
    made.add_argument("-o", dest="output", metavar="FILE", help="where to write; standard output otherwise")
    made.add_argument("--target", choices=TARGETS, default="jax", help="what to compile to (default: jax)")
    made.add_argument(
        "-D",
        dest="defines",
        metavar="NAME=NUMBER",
        type=_define,
        action="append",
        default=[],
        help="give a size of the program another value; of an .onnx model, a dimension its size, or an input "
        "of one element its value",
    )
    made.add_argument(
        "--entry", metavar="NAME", help="the function to compile (default: main, else the last)"
    )
    made.add_argument(
        "--fallback",
        choices=FALLBACKS,
        default="error",
        help="what to do with an operation that has no rule: stop (default), or gather its operands",
    )
    made.add_argument(
        "--overlap",
        choices=OVERLAPS,
        default="off",
        help="let matrix products go on while their operands are gathered or their sums scattered: never "
        "(default), wherever it can be done, or where it is estimated to be quicker",
    )
    made.add_argument(
        "--memory",
        metavar="BYTES",
        type=size_in_bytes,
        help="the most that a device may hold at a time: weights are gathered again, results left split, and "
        "layouts changed in smaller steps as far as that takes, as cheaply as can be",
    )
    made.add_argument(
        "--memory-limit",
        metavar="BYTES",
        type=size_in_bytes,
        help="part of --memory: the most that a step of a tensor's change of layout may take on a device, "
        "operand and result",
    )
    made.add_argument(
        "--regather",
        action="store_true",
        help="part of --memory: gather a weight again for the backward pass rather than keep it whole: "
        "less memory, more bytes sent",
    )
    made.add_argument(
        "--combine",
        metavar="BYTES",
        type=size_in_bytes,
        help="let all-reduces, all-gathers and reduce-scatters of up to so many bytes together be one, where "
        "they can wait for each other; with the latency of a --machine, where that is quicker (default: "
        "32 MiB; 0: none)",
    )
    made.add_argument(
        "--process-data",
        action="store_true",
        help="with JAX: let the program have main_local, which takes what each process holds",
    )
    made.add_argument(
        "--comments",
        choices=COMMENTS,
        default=COMMENTS[0],
        help="types on every line (full), or where a layout changes and at heads of functions",
    )
    made.add_argument("--mesh", metavar="MESH", help='of an .onnx model, such as "pod[data=2, model=4]"')
    made.add_argument(
        "--shard",
        dest="shardings",
        metavar="TENSOR=SPEC",
        type=_sharding,
        action="append",
        default=[],
        help="of an .onnx model: how a tensor lies on the mesh, in any notation that shardc-layout reads",
    )
    made.add_argument(
        "--configuration", metavar="NAME", help="which of the device configurations of an .onnx model to use"
    )
    made.add_argument(
        "--approximate",
        action="store_true",
        help="with --emit onnx: write layouts that ONNX cannot say as replicated, and list them",
    )
    action = made.add_mutually_exclusive_group()
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
        help="prove over exact arithmetic, at reduced shapes, that the per-device program and the emitted "
        "text equal the global program; into the file goes a certificate, for shardc-check",
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
    made.add_argument("--format", choices=FORMATS, help="with --explain and --cost: text (default) or json")
    made.add_argument(
        "--machine",
        metavar="NAME|FILE.toml",
        help="plan for the least time on a machine, which --cost then states: balanced (default), bytes "
        "(work is free), tpu-v5e, tpu-v4p, h100-infiniband, laptop, or a file",
    )
    made.add_argument(
        "--links",
        metavar="AXIS=LINK,…|best",
        type=_links,
        default={},
        help="with --machine: the links of mesh axes, like model=NVLink,data=InfiniBand (default: by the "
        "numbers of the devices); best: number the devices so that the program is quickest",
    )
    made.add_argument(
        "--tries",
        metavar="N",
        type=_count,
        help="with --cost: how many changes of annotations to try for those that remove a collective "
        "(default: fewer, the larger the program and the harder to plan; 0: none)",
    )
    made.add_argument(
        "--trace",
        metavar="DEVICES",
        nargs="?",
        const=(0,),
        type=_devices,
        help="with --run: print every operation's blocks on these devices (like 0,3; default: 0), and stop "
        "at the first that differs from the single-device program",
    )
    made.add_argument(
        "--inputs", metavar="FILE.npz", help="with --run: the arguments, by name (default: random)"
    )
    made.add_argument("--outputs", metavar="FILE.npz", help="with --run: where to write the results")
    made.add_argument(
        "--against",
        metavar="NAME|FILE.py:NAME",
        help="with --run and --prove: the function of the program that the entry is to equal, where it "
        "is per-device code; with --run also a NumPy or JAX function of a Python file",
    )
    made.add_argument(
        "--no-prove",
        action="store_true",
        help="do not prove a program whose work is small while compiling it (SHARDC_PROVE=off: nowhere)",
    )
    made.add_argument(
        "--no-cache",
        action="store_true",
        help="compile anew; else what a text was compiled to is kept in the user's cache folder "
        "(SHARDC_CACHE=DIR: there; SHARDC_CACHE=off: nowhere)",
    )
    made.add_argument("--version", action="version", version=f"shardc {__version__}")
    return made
