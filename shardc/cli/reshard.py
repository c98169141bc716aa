"""`shardc reshard`: a checkpoint for another mesh or layout, and what is in a checkpoint."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from shardc.arrays import Checkpoint, Placed, Stored, open_checkpoint, reshard
from shardc.arrays.loading import type_text
from shardc.cli.ending import run_to_end
from shardc.cli.misuse import Parser
from shardc.diagnostics import ShardcError, collecting, warn
from shardc.graph.types import TensorType, name_of
from shardc.layout import LayoutError, Mesh, Sharding, replicated
from shardc.layout.notations import jax as notation
from shardc.options import Options


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    parser = _parser()
    given = parser.parse_args(argv)
    if given.list == bool(given.output):
        parser.error("-o says where to write, or --list that nothing is written")
    if given.output and not given.to:
        parser.error("--to says for which program or mesh")
    return run_to_end("shardc reshard", lambda: _reported(given))


def _reported(given: argparse.Namespace) -> int:
    code = 0
    with collecting() as warnings:
        try:
            _act(given)
        except ShardcError as error:
            print(error, file=sys.stderr)
            code = 1
    for diagnostic in warnings:
        print(diagnostic, file=sys.stderr)
    return code


def _act(given: argparse.Namespace) -> None:
    checkpoint = open_checkpoint(given.checkpoint)
    if given.list:
        print("\n".join(structure(checkpoint)))
        return
    layouts = _layouts(given, checkpoint)
    done = reshard(checkpoint, layouts, given.output, lambda text: print(text, file=sys.stderr, flush=True))
    blocks = f"{done.written + done.kept} {done.unit}, {done.kept} of them were there"
    print(
        f"{given.output}: {_count(len(layouts), 'array')} in {blocks}; {done.read} bytes read, "
        f"{done.moved} bytes in blocks with new borders"
    )


def structure(checkpoint: Checkpoint) -> list[str]:
    """A line for each array, and one for all."""
    lines = [
        f"{name}: {type_text(stored.dtype, stored.shape)} in {_count(len(stored.pieces), 'block')}"
        for name, stored in checkpoint.arrays.items()
    ]
    total = sum(stored.nbytes for stored in checkpoint.arrays.values())
    return [*lines, f"{_count(len(lines), 'array')}, {total} bytes"]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _layouts(given: argparse.Namespace, checkpoint: Checkpoint) -> dict[str, Placed]:
    if Path(given.to).suffix in (".shard", ".mlir"):
        return _of_program(given.to, checkpoint)
    mesh = _mesh(given.to)
    return {name: _of_pattern(name, stored, mesh, given.shard) for name, stored in checkpoint.arrays.items()}


def _of_program(path: str, checkpoint: Checkpoint) -> dict[str, Placed]:
    """As the parameters of a program lie that have the names of arrays."""
    from shardc.analysis.per_device import read as interface
    from shardc.cli import driver
    from shardc.compilation import lower
    from shardc.frontend.read import read

    options = Options(**driver.source_of(path))
    with collecting():
        program = interface(lower(read(driver.read_text(path), options), options))
    params = {param.name: Placed(param.type, param.sharding) for param in program.params}
    if not params.keys() & checkpoint.arrays.keys():
        raise ShardcError(
            f"{path} takes {', '.join(params)}, and {checkpoint.path} has none of them",
            hint="shardc reshard --list shows what it has",
        )
    mesh = program.mesh.mesh if program.mesh is not None else Mesh("one", (("x", 1),))
    for name in checkpoint.arrays.keys() - params.keys():
        warn(f"{path} does not take {name}, which stays whole")
    return {
        name: params[name] if name in params else _placed(stored, replicated(mesh, len(stored.shape)))
        for name, stored in checkpoint.arrays.items()
    }


def _mesh(text: str) -> Mesh:
    """data=2,model=4"""
    parts = [re.fullmatch(r"([A-Za-z_]\w*)=([0-9]{1,9})", part.strip()) for part in text.split(",")]
    if not all(parts):
        raise ShardcError(f"{text} is no program, and no mesh like data=2,model=4")
    try:
        return Mesh("mesh", tuple((part[1], int(part[2])) for part in parts if part is not None))
    except LayoutError as error:
        raise ShardcError(str(error)) from None


def _of_pattern(name: str, stored: Stored, mesh: Mesh, patterns: Mapping[str, str]) -> Placed:
    """As the first pattern says that fits the name; whole, if none does."""
    text = next((spec for pattern, spec in patterns.items() if fnmatchcase(name, pattern)), "P()")
    try:
        return _placed(stored, notation.read(text, mesh, len(stored.shape)))
    except LayoutError as error:
        raise ShardcError(f"{name}, {type_text(stored.dtype, stored.shape)}: {error}") from None


def _placed(stored: Stored, sharding: Sharding) -> Placed:
    name = name_of(stored.dtype)
    if name is None:
        raise ShardcError(f"{stored.name} has dtype {stored.dtype}, which cannot be resharded")
    return Placed(TensorType(stored.shape, name), sharding)


def _pattern(text: str) -> tuple[str, str]:
    name, equals, spec = text.partition("=")
    if not equals or not name or not spec:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=P(…)")
    return name, spec


class _Patterns(argparse.Action):
    """--shard, given several times, as one mapping in order."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option: object = None,
    ) -> None:
        name, spec = cast("tuple[str, str]", values)
        namespace.shard = {**namespace.shard, name: spec}


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="shardc reshard",
        description="Writes a checkpoint anew for another mesh or layout: a folder with a file for every "
        "device, or whole arrays in NAME.zarr, .orbax, .safetensors, .npz or .npy. What was stopped goes on "
        "when it is called again.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a file or folder of arrays")
    parser.add_argument(
        "--to",
        metavar="PROGRAM|MESH",
        help="a program whose parameters have the arrays' names, or data=2,model=4",
    )
    parser.add_argument(
        "--shard",
        metavar="NAME=P(…)",
        type=_pattern,
        action=_Patterns,
        default={},
        help="with a mesh: how arrays with such names (* and ? allowed) are split; others stay whole",
    )
    parser.add_argument("-o", dest="output", metavar="PATH", help="where to write")
    parser.add_argument("--list", action="store_true", help="only say what is in the checkpoint")
    return parser


if __name__ == "__main__":
    sys.exit(main())
