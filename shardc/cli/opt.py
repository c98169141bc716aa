"""The `shardc-opt` command: single passes on IR, in the manner of mlir-opt.

shardc-opt FILE -p 'propagate,check'. It knows xDSL's dialects and shardc's, and never asks other plug-ins for
theirs: two packages that publish one name would stop it from starting.

shardc-opt FILE -sdy-basic-propagate -verify-diagnostics: command lines written for Shardy's sdy_opt work too,
and then the output is printed as MLIR prints it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import IO

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, VerifyException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from shardc.cli.driver import decoded, write_text
from shardc.cli.ending import run_to_end
from shardc.cli.expected import problems
from shardc.cli.sdy_flags import translate
from shardc.diagnostics import Diagnostic, ShardcError, collecting, register_source
from shardc.dialects.context import DIALECTS
from shardc.dialects.mlir_style import print_as_mlir
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read
from shardc.passes.pipeline import PASSES
from shardc.passes.shardy.table import SDY_PASSES


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


class PlainMLIRTarget(Target):
    """The module as MLIR's own tools print it: numbered values, no locations."""

    name = "plain-mlir"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_as_mlir(module))


class _Output(StringIO):
    """What is printed, also after xDSL's driver has closed it."""

    def close(self) -> None:
        pass


class OptMain(xDSLOptMain):
    """xDSL's driver with shardc's dialects, passes, reader and printer."""

    _output: _Output | None = None

    def register_all_dialects(self) -> None:
        for name, factory in {**get_all_dialects(), **DIALECTS}.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        for name, factory in ALL_PASSES.items():
            self.register_pass(name, factory)

    def register_all_targets(self) -> None:
        self.available_targets["mlir"] = lambda: MLIRTarget
        self.available_targets["plain-mlir"] = lambda: PlainMLIRTarget

    def register_all_frontends(self) -> None:
        def parse_mlir(stream: IO[bytes]) -> ModuleOp:
            file = self.args.input_file or "<stdin>"
            text = decoded(stream.read(), file)
            register_source(file, text)
            unregistered: bool = self.args.allow_unregistered_dialect
            shardys = all(step.name in SDY_PASSES for step in self.pipeline.passes)
            return read(text, file, unregistered, dynamic=shardys)

        self.available_frontends["mlir"] = parse_mlir

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.set_defaults(print_debuginfo=True)
        arg_parser.add_argument(
            "--no-locations", dest="print_debuginfo", action="store_false", help="print no loc(…)"
        )

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        """Chunks that begin with as many empty lines as stood before them, so that line numbers are right."""
        chunks, extension = super().prepare_input()
        return [(BytesIO(b"\n" * offset + chunk.read()), offset) for chunk, offset in chunks], extension

    def prepare_output(self) -> IO[str]:
        """Standard output, or what `write_output` will write to a file when all went well."""
        if self.args.output_file is None:
            return sys.stdout
        self._output = _Output()
        return self._output

    def write_output(self) -> None:
        """Write what was printed, if it is for a file. ShardcError if it cannot be written."""
        if self._output is not None:
            write_text(self.args.output_file, self._output.getvalue())

    def run_verified(self) -> int:
        """Run, compare what is said with the comments in the input, and report; 1 if they differ."""
        chunks, extension = self.prepare_input()
        output = self.prepare_output()
        wrong: list[str] = []
        for number, (chunk, offset) in enumerate(chunks):
            text = decoded(chunk.read(), self.args.input_file or "<stdin>")
            printed, said = self._chunk(BytesIO(text.encode()), extension, offset)
            output.write("// -----\n" * (number > 0) + printed)
            wrong += problems(text, said)
        output.flush()
        for problem in wrong:
            print(problem, file=sys.stderr)
        return int(bool(wrong))

    def _chunk(self, chunk: IO[bytes], extension: str, offset: int) -> tuple[str, list[Diagnostic]]:
        """What one chunk becomes, and what was said about it."""
        with collecting() as said:
            try:
                module = self.parse_chunk(chunk, extension, offset)
                if module is None:
                    return "", said
                self.apply_passes(module)
                return self.output_resulting_program(module), said
            except ShardcError as error:
                return "", [*said, error.diagnostic]


_MISUSED = (DiagnosticException, VerifyException, ArgSpecParseError, ValueError)

ALL_PASSES = {**PASSES, **SDY_PASSES}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 for a wrong module."""
    return run_to_end("shardc-opt", lambda: _reported(argv))


def _reported(argv: Sequence[str] | None) -> int:
    args, in_mlir_style = translate(sys.argv[1:] if argv is None else argv, ALL_PASSES)
    if in_mlir_style:
        args = ["-t", PlainMLIRTarget.name, *args]
    with collecting() as warnings:
        try:
            tool = OptMain("shardc-opt: single passes on IR", args=args)
            code = 0
            if tool.args.verify_diagnostics:
                code = tool.run_verified()
            else:
                tool.run()
            tool.write_output()
            return code
        except ShardcError as error:
            print(error, file=sys.stderr)
        except OSError as error:
            if error.filename is None:  # standard output, of which the caller says so
                raise
            why = (error.strerror or "failed").lower()
            print(f"shardc-opt: error: cannot read {error.filename}: {why}", file=sys.stderr)
        except _MISUSED as error:
            print(f"shardc-opt: error: {error}", file=sys.stderr)
        finally:
            for warning in warnings:
                print(warning, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
