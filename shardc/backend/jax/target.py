"""JAX as a language to write."""

from __future__ import annotations

from shardc.backend.jax.exactness import ACCURACY, accurate
from shardc.backend.python.elementwise import spelled
from shardc.backend.python.emission import Target
from shardc.backend.python.printers import ARRAYS, Printer, Printers
from shardc.ops import OpDef


def _spelled(definition: OpDef) -> Printer | None:
    spelling = definition.spelling
    plain = spelled(spelling.jax, spelling.strict)
    syntax = definition.syntax
    if plain is None or spelling.jax is None or syntax is None or ACCURACY not in syntax.attrs:
        return plain
    name = spelling.jax.rpartition(".")[2]
    return accurate(_OF_LAX.get(name, name), plain)


_OF_LAX = {"sigmoid": "logistic"}
"""What `lax` calls otherwise than the function that is written."""


JAX = Printers(_spelled, ARRAYS)
TARGET = Target("JAX", "jnp", JAX)
