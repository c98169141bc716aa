"""JAX programs: `emit` writes one.

The modules that `PRINTERS` lists attach the printers; a new one must be added there.
"""

from types import ModuleType

from shardc.backend.jax import (
    arithmetic,
    batch_norm,
    collectives,
    composites,
    control,
    custom_calls,
    draws,
    dynamic_slices,
    factors,
    indexing,
    solutions,
    special,
    windows,
    windows_of_rows,
)
from shardc.backend.jax.program import emit

PRINTERS: tuple[ModuleType, ...] = (
    arithmetic,
    batch_norm,
    collectives,
    composites,
    control,
    custom_calls,
    draws,
    dynamic_slices,
    factors,
    indexing,
    solutions,
    special,
    windows,
    windows_of_rows,
)

__all__ = ["PRINTERS", "emit"]
