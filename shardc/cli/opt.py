"""The `shardc-opt` command: single passes on IR, in the manner of mlir-opt.

shardc-opt FILE -p 'propagate,check'. It knows xDSL's dialects and shardc's, and never asks other plug-ins for
theirs: two packages that publish one name would stop it from starting.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, VerifyException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from shardc.dialects.context import DIALECTS
from shardc.dialects.text import print_module
from shardc.explain.diagnostics import ShardcError, collecting, register_source
from shardc.frontend.mlir import read
from shardc.passes.pipeline import PASSES


@dataclass(frozen=True)
class MLIRTarget(Target):
    """The module as text, with its locations: names and places of the source survive from pass to pass."""

    name = "mlir"

    print_generic_format: bool = False
    print_properties_as_attributes: bool = False
    print_debuginfo: bool = True
    syntax_highlight: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_module(module, self.print_debuginfo, self.print_generic_format))


class OptMain(xDSLOptMain):
    """xDSL's driver with shardc's dialects, passes, reader and printer."""

    def register_all_dialects(self) -> None:
        for name, factory in {**get_all_dialects(), **DIALECTS}.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        for name, factory in PASSES.items():
            self.register_pass(name, factory)

    def register_all_targets(self) -> None:
        self.available_targets["mlir"] = lambda: MLIRTarget

    def register_all_frontends(self) -> None:
        def parse_mlir(stream: IO[bytes]) -> ModuleOp:
            file = self.args.input_file or "<stdin>"
            text = stream.read().decode("utf-8")
            register_source(file, text)
            return read(text, file)

        self.available_frontends["mlir"] = parse_mlir

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.set_defaults(print_debuginfo=True)
        arg_parser.add_argument(
            "--no-locations", dest="print_debuginfo", action="store_false", help="print no loc(…)"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 for a wrong module."""
    with collecting() as warnings:
        try:
            OptMain("shardc-opt: single passes on IR", args=argv).run()
            return 0
        except ShardcError as error:
            print(error, file=sys.stderr)
        except (DiagnosticException, VerifyException, OSError, ValueError) as error:
            print(f"shardc-opt: error: {error}", file=sys.stderr)
        finally:
            for warning in warnings:
                print(warning, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
