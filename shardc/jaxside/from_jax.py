"""`shardc.from_jax`: a JAX function compiled once, for either target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from shardc.api import Program
from shardc.frontend.jax import staged
from shardc.jaxside.captured import with_captured
from shardc.jaxside.lowered import lowered
from shardc.jaxside.placement import meshes, placed
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
    fields; the items of `*args` are arguments of their own. Arrays on several devices that the function
    captures are first arguments of the text's `main`; that of the Program has them. Other captured arrays
    are constants. Without a sharding, the program is for one device. prove: as in `shardc.compile`.
    """
    chosen = options_of("from_jax", JaxOptions, None, named)
    shardings = {"in_shardings": in_shardings, "out_shardings": out_shardings}
    stated = {key: value for key, value in shardings.items() if value is not None}
    traced, captured = with_captured(function, stated, staged(function, **stated).trace(*avals), avals, {})
    name = getattr(function, "__name__", "function")
    known = meshes([placed(array) for array in captured])
    found = lowered(traced, chosen, f"<{name}>", known, prove, captured)
    if captured and chosen.target == "jax":
        found.stay_on_devices()  # where the captured arrays are
    return found.program
