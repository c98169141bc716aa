"""The operations of a function that JAX traced."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any


def equations(jaxpr: Any) -> Iterator[Any]:
    """The operations of a jaxpr, those of the functions in it too."""
    leaves: Any = import_module("jax").tree.leaves
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for value in leaves(list(equation.params.values())):
            if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
                yield from equations(value)
