"""JAX as a language to write."""

from __future__ import annotations

from shardc.backend.python.elementwise import spelled
from shardc.backend.python.emission import Target
from shardc.backend.python.printers import ARRAYS, Printer, Printers
from shardc.ops import OpDef


def _spelled(definition: OpDef) -> Printer | None:
    spelling = definition.spelling
    return spelled(spelling.jax, spelling.strict)


JAX = Printers(_spelled, ARRAYS)
TARGET = Target("JAX", "jnp", JAX)
