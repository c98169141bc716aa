"""`shardc.from_jax`: a JAX function compiled once, for either target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from shardc.api import Program
from shardc.frontend.jax import staged
from shardc.jaxside.lowered import lowered
from shardc.options import JaxOptions, options_of


def from_jax(
    function: Callable[..., Any],
    *avals: Any,
    in_shardings: Any = None,
    out_shardings: Any = None,
    prove: bool | None = None,
    **named: Unpack[JaxOptions],
) -> Program:
    """Compile a JAX function for arguments like `avals`; the shardings are jax.jit's.

    `main` takes and gives dicts as the function does, lists as tuples, and other objects as tuples of their
    fields; the items of `*args` are arguments of their own. Without a sharding, the program is for one
    device. prove: as in `shardc.compile`.
    """
    chosen = options_of("from_jax", JaxOptions, None, named)
    stages = staged(function, in_shardings=in_shardings, out_shardings=out_shardings)
    name = getattr(function, "__name__", "function")
    return lowered(stages.trace(*avals), chosen, f"<{name}>", prove=prove).program
