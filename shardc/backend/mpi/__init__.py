"""Programs for NumPy and mpi4py, one process a device: `emit` writes one. They import nothing of shardc."""

from shardc.backend.mpi.program import emit

__all__ = ["emit"]
