"""NumPy programs, which run on emulated devices: `emit` writes one, `peak` says what it holds.

The modules that `PRINTERS` lists attach the printers; a new one must be added there.
"""

from types import ModuleType

from shardc.backend.numpy import arithmetic, collectives, composites, control, custom_calls, functions
from shardc.backend.numpy.program import emit, peak

PRINTERS: tuple[ModuleType, ...] = (arithmetic, collectives, composites, control, custom_calls, functions)

__all__ = ["PRINTERS", "emit", "peak"]
