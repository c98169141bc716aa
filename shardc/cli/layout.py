"""The `shardc-layout` command: which device holds which part of a tensor, in anybody's notation.

shardc-layout mindspore --device-matrix 2,4 --alias x,y --tensor-map x,y --shape 2,4
shardc-layout jax --mesh x=2,y=4 --spec "P('x', None)" --shape 8,8 --to hlo
shardc-layout signatures expand --shape 4,3,1,2 --sizes 2,4,3,4,2
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from shardc import __version__
from shardc.cli import layout_inputs, layout_onnx_check, layout_report, layout_signatures
from shardc.cli.ending import run_to_end
from shardc.cli.misuse import Parser
from shardc.diagnostics import ShardcError
from shardc.layout import LayoutError
from shardc.layout.notations import NOTATIONS
from shardc.layout.uneven import POLICIES

TARGETS = (*NOTATIONS, "shard", "all")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 1 for a layout that cannot be, 2 for a misused command."""
    options = _parser().parse_args(with_values(sys.argv[1:] if argv is None else argv))
    return run_to_end("shardc-layout", lambda: _reported(options))


def with_values(words: Sequence[str]) -> list[str]:
    """`--sizes -1,3` as `--sizes=-1,3`: argparse takes what begins with a minus for an option."""
    found: list[str] = []
    for word in words:
        if re.match(r"-\d+,", word) and found and re.fullmatch(r"--[\w-]+", found[-1]):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def _reported(options: argparse.Namespace) -> int:
    try:
        options.run(options)
    except LayoutError as error:
        return _failed(str(error))
    except ShardcError as error:
        hint = f" ({error.diagnostic.hint})" if error.diagnostic.hint else ""
        return _failed(error.diagnostic.message + hint)
    return 0


def _failed(text: str) -> int:
    print(f"shardc-layout: error: {text}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="shardc-layout",
        description="Which device holds which part of a tensor, in anybody's notation.",
    )
    parser.add_argument("--version", action="version", version=f"shardc {__version__}")
    commands = parser.add_subparsers(metavar="NOTATION", required=True)
    for notation in NOTATIONS.values():
        command = commands.add_parser(notation.name, help=notation.title)
        layout_inputs.INPUTS[notation.name].add_options(command)
        _add_common(command)
        command.set_defaults(run=layout_report.run, notation=notation.name, misused=command.error)
    command = commands.add_parser("signatures", help="the SBP signatures of an operation of the language")
    layout_signatures.add_options(command)
    command.set_defaults(run=layout_signatures.run, misused=command.error)
    command = commands.add_parser("onnx-check", help="ONNX's sharding formalism over a model's nodes")
    layout_onnx_check.add_options(command)
    command.set_defaults(run=layout_onnx_check.run, misused=command.error)
    return parser


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--shape", required=True, type=layout_inputs.sizes, metavar="8,8", help="the tensor; () for a scalar"
    )
    command.add_argument(
        "--to",
        choices=TARGETS,
        help="in another notation, as a type of the language (shard), or in all",
    )
    command.add_argument("--picture", metavar="FILE.svg", help="draw the tensor and its devices")
    command.add_argument(
        "--processes",
        type=layout_inputs.positive,
        metavar="N",
        help="which of N processes holds what; each owns as many devices, in order",
    )
    command.add_argument(
        "--local-shape",
        type=layout_inputs.sizes,
        metavar="2,4",
        help="with --processes: which global shapes go with local data of this shape",
    )
    command.add_argument(
        "--uneven",
        choices=tuple(POLICIES),
        help="blocks where the axes don't divide (default: the notation's)",
    )
    command.add_argument(
        "--rows", type=layout_inputs.positive, default=64, metavar="N", help="devices listed (default: 64)"
    )
    command.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


if __name__ == "__main__":
    sys.exit(main())
