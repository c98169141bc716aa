"""The `shardc-opt` command: single passes on IR, in the manner of mlir-opt.

shardc-opt FILE -p 'propagate,check'. It registers xDSL's dialects and shardc's, and never asks other
plug-ins for theirs: two packages that publish one name would stop it from starting.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.xdsl_opt_main import xDSLOptMain

from shardc.dialects.context import register_dialects
from shardc.explain.diagnostics import ShardcError, collecting, register_source
from shardc.frontend.mlir import read
from shardc.passes.pipeline import PASSES


class OptMain(xDSLOptMain):
    """xDSL's driver with shardc's dialects, passes and reader."""

    def register_all_dialects(self) -> None:
        register_dialects(self.ctx)

    def register_all_passes(self) -> None:
        for name, factory in PASSES.items():
            self.register_pass(name, factory)

    def register_all_targets(self) -> None:
        super().register_all_targets()

    def register_all_frontends(self) -> None:
        def parse_mlir(stream: IO[bytes]) -> ModuleOp:
            text = stream.read().decode("utf-8")
            file = self.args.input_file or "<stdin>"
            register_source(file, text)
            return read(text, file)

        self.available_frontends["mlir"] = parse_mlir

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 for a wrong module."""
    with collecting() as warnings:
        try:
            OptMain("shardc-opt", args=list(argv) if argv is not None else None).run()
            return 0
        except ShardcError as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            for warning in warnings:
                print(warning, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
