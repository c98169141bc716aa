"""A JAX function -> the StableHLO text that JAX lowers it to, with its shardings.

lower(f, x, w, in_shardings=(NamedSharding(mesh, P("data")), None)) -> the text of an .mlir file
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def lower(
    function: Callable[..., Any], *avals: Any, in_shardings: Any = None, out_shardings: Any = None
) -> str:
    """What JAX makes of `function` on arguments like `avals`, with source locations.

    `avals` are arrays or jax.ShapeDtypeStructs, or pytrees of them; the shardings are jax.jit's, None for
    what the compiler may choose. Arguments that the function never reads stay arguments.
    """
    import jax

    given = {"in_shardings": in_shardings, "out_shardings": out_shardings}
    stated = {key: value for key, value in given.items() if value is not None}
    jit: Callable[..., Any] = jax.jit  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    traced = jit(function, keep_unused=True, **stated)
    return str(traced.lower(*avals).as_text(debug_info=True))
