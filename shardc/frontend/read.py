"""A text in either language -> the module it says."""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import ShardcError, register_source
from shardc.dialects.locations import location_of
from shardc.ops import sdy
from shardc.options import Options

_SINK = "shardc-opt -sdy-sink-data-flow-edges takes it away"

_MLIR = re.compile(
    r'^\s*("?builtin\.module\b|module\s*(?:[@{]|attributes\b)|"?func\.func\b|"?sdy\.mesh\b)', re.MULTILINE
)
"""What no line of a .shard program begins with, and some line of a module does."""


def language_of(text: str) -> str:
    """mlir if a line of the text begins a module, a function or a mesh in MLIR's syntax, else shard."""
    return "mlir" if _MLIR.search(text) else "shard"


def read(text: str, options: Options) -> ModuleOp:
    """The module of a program. ShardcError, which points into `options.file`, if the text is wrong."""
    register_source(options.file, text)
    return _READERS[options.language or language_of(text)](text, options)


def _read_shard(text: str, options: Options) -> ModuleOp:
    from shardc.frontend import text as shard

    return shard.read(text, options.file, options.defines, options.entry)


def _read_mlir(text: str, options: Options) -> ModuleOp:
    from shardc.frontend import mlir

    if options.defines:
        raise ShardcError("-D sets sizes of a .shard program; an .mlir module has none")
    if options.entry is not None:
        raise ShardcError(
            "--entry chooses a function of a .shard program; the entry of an .mlir module is @main"
        )
    module = mlir.read(text, options.file)
    for op in module.walk():
        if op.name == sdy.data_flow_edge.name:
            raise ShardcError(
                f"{op.name} stands in a program only while shardings propagate",
                location_of(op.location),
                _SINK,
            )
    return module


_READERS: dict[str, Callable[[str, Options], ModuleOp]] = {"mlir": _read_mlir, "shard": _read_shard}
"""language -> its reader"""
