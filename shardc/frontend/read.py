"""A text in either language -> the module it says."""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import Location, ShardcError, register_source
from shardc.dialects.locations import location_of
from shardc.dialects.nested import nested
from shardc.dialects.verify import uneven_block
from shardc.ops import sdy
from shardc.options import Options
from shardc.passes.inline_calls import MOST

_SINK = "shardc-opt -sdy-sink-data-flow-edges takes it away"

_WHOLE_BLOCKS = "per-device code has blocks of one size; pad the tensor"

_MLIR = re.compile(
    r'^[^\S\n]*("?builtin\.module\b|module\s*(?:[@{]|attributes\b)|"?func\.func\b|"?sdy\.mesh\b)',
    re.MULTILINE,
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
    from shardc.frontend.jax_trees import read_trees
    from shardc.frontend.mlir_entry import choose_entry
    from shardc.frontend.mlir_sizes import read_sizes

    if options.defines:
        raise ShardcError("-D sets sizes of a .shard program; an .mlir module has none")
    _check_length(text, options.file)
    module = mlir.read(text, options.file)
    if options.entry is not None:
        choose_entry(module, options.entry)
    read_trees(module)
    read_sizes(module)
    for op in nested([module]):
        if op.name in (sdy.data_flow_edge.name, sdy.func_data_flow_edge.name):
            raise ShardcError(
                f"{op.name} stands in a program only while shardings propagate",
                location_of(op.location),
                _SINK,
            )
        uneven = uneven_block(op) if op.name == sdy.manual_computation.name else ""
        if uneven:
            raise ShardcError(uneven, location_of(op.location), _WHOLE_BLOCKS)
    return module


_OPERATION = re.compile(r'^[ \t]*(?:%[^=\n]*=|"?[\w.]*return\b|"?(func\.func)\b)', re.MULTILINE)
"""A line that is an operation, or begins a function."""


def _check_length(text: str, file: str) -> None:
    """ShardcError for a module with a function that is too long, before anything of it is read."""
    if text.count("\n") <= MOST:
        return
    count = 0
    for found in _OPERATION.finditer(text):
        count = 0 if found[1] else count + 1
        if count > MOST:
            place = Location(file, text.count("\n", 0, found.start()) + 1, 1)
            raise ShardcError(
                f"a function has more than {MOST} operations",
                place,
                "a loop over stacked layers stays a loop",
            )


_READERS: dict[str, Callable[[str, Options], ModuleOp]] = {"mlir": _read_mlir, "shard": _read_shard}
"""language -> its reader"""
