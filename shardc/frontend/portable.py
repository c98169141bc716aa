"""Portable artifacts of StableHLO, which jax.export and other tools write, as text.

    exported.mlir_module_serialized    ->    module @jit_f { func.func public @main(…) { … } }

They are bytecode of the dialect vhlo, whose versions jaxlib reads; without jaxlib an error says so.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shardc.diagnostics import Location, ShardcError

MAGIC = b"ML\xefR"
"""What MLIR's bytecode begins with."""

_DIALECTS = ("stablehlo", "chlo", "sdy")


def is_portable(data: bytes) -> bool:
    """Whether a file holds bytecode and no text."""
    return data.startswith(MAGIC)


def text_of(data: bytes, file: str) -> str:
    """The StableHLO text of an artifact, with its locations. ShardcError if jaxlib cannot read it."""
    place = Location(file, 1, 1)
    try:
        ir: Any = import_module("jaxlib.mlir.ir")
        stablehlo, *others = (import_module(f"jaxlib.mlir.dialects.{name}") for name in _DIALECTS)
    except ImportError:
        raise ShardcError(
            "this is MLIR bytecode, which jaxlib reads, and there is none here",
            place,
            "pip install jaxlib, or give the program as text",
        ) from None
    with ir.Context() as context:
        for dialect in (stablehlo, *others):
            dialect.register_dialect(context)
        said: list[str] = []

        def note(found: Any) -> bool:
            said.append(str(found.message))
            return True

        handler = context.attach_diagnostic_handler(note)
        try:
            module: Any = stablehlo.deserialize_portable_artifact(context, data)
            return str(module.operation.get_asm(enable_debug_info=True))
        except (ValueError, ir.MLIRError) as error:
            why = (said or [str(error)])[0].splitlines()[0]
            hint = f"jaxlib reads StableHLO up to {stablehlo.get_current_version()}"
            raise ShardcError(f"no portable artifact of StableHLO: {why}", place, hint) from None
        finally:
            handler.detach()
