"""Programs of the .shard language: `emit` writes per-device code that compiles to the same again.

The modules that `PRINTERS` lists attach the printers; a new one must be added there.
"""

from types import ModuleType

from shardc.backend.shard import collectives, complex_numbers, control, elementwise, reductions, shapes
from shardc.backend.shard.program import emit

PRINTERS: tuple[ModuleType, ...] = (collectives, complex_numbers, control, elementwise, reductions, shapes)

__all__ = ["PRINTERS", "emit"]
