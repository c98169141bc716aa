"""The readers of emitted texts, by target."""

from __future__ import annotations

from collections.abc import Callable

from shardc.graph import Graph

READ = {"numpy": "NumPy", "jax": "JAX", "mpi": "MPI"}
"""The targets whose texts are read back, and what the texts are called."""


def reader(target: str) -> Callable[[str, Graph], Graph]:
    """What reads the texts of a target back: from a text and the global program."""
    if target == "jax":
        from shardc.proof.reading.jax_text import read_back
    elif target == "mpi":
        from shardc.proof.reading.mpi_text import read_back
    else:
        from shardc.proof.reading.numpy_text import read_back
    return read_back
