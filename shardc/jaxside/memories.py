"""Moves to the host's memory, which emitted programs have none of."""

from __future__ import annotations

from typing import Any

from shardc.diagnostics import Diagnostic
from shardc.frontend.jax_equations import equations
from shardc.jaxside.untyped import jax

_HINT = "jax.device_put the results where the function is called"


def moves_left_out(closed: Any) -> tuple[Diagnostic, ...]:
    """A warning if a traced function or one in it puts values into host memory: they stay where they are."""
    moves = [equation for equation in equations(closed) if _is_to_host(equation)]
    if not moves:
        return ()
    values = "a value" if len(moves) == 1 else f"{len(moves)} values"
    said = f"the function moves {values} to host memory: left out, they stay in the devices' memory"
    return (Diagnostic("warning", said, hint=_HINT),)


def _is_to_host(equation: Any) -> bool:
    spaces = (getattr(value.aval, "memory_space", None) for value in equation.outvars)
    return equation.primitive.name == "device_put" and jax.memory.Space.Host in spaces
