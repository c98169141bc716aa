"""A JAX function -> the StableHLO text that JAX lowers it to, with its shardings.

lower(f, x, w, in_shardings=(NamedSharding(mesh, P("data")), None)) -> the text of an .mlir file
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from shardc.frontend.jax_loops import say_loops
from shardc.frontend.jax_said import say_trees


def staged(function: Callable[..., Any], **options: Any) -> Any:
    """jax.jit's own form of a function, which can trace and lower it; None is what is not said.

    Arguments that the function never reads stay arguments.
    """
    import jax

    stated = {key: value for key, value in options.items() if value is not None}
    jit: Callable[..., Any] = jax.jit  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return jit(function, keep_unused=True, **stated)


def text_of(traced: Any, parameters: Any = None) -> str:
    """StableHLO with `sdy` shardings and source locations for a jax.stages.Traced.

    Parameters and results are the leaves of the trees of arguments and results, in order; what JAX's paths
    leave open of them is said by shardc.tuples and shardc.classes, and what Python calls what loops carry by
    shardc.loops. `parameters` are JAX's own of a lowering.
    """
    import jax

    stated = {} if parameters is None else {"_private_parameters": parameters}
    # said, because a function inside a traced one may know its mesh without the devices
    lowered = traced.lower(lowering_platforms=(jax.default_backend(),), **stated)
    module = lowered.compiler_ir("stablehlo")
    say_trees(module, traced)
    say_loops(module, traced)
    text = str(lowered.as_text(debug_info=True))
    _forget(traced.jaxpr)
    return text


def _forget(jaxpr: Any) -> None:
    """Let JAX forget what it lowered, and with it the arrays that the function captured.

    JAX 0.12 keeps a jaxpr of which all arguments stay for as long as it lives, by itself.
    """
    known: Any = getattr(import_module("jax._src.interpreters.pxla"), "_dce_jaxpr", None)
    evict = getattr(known, "evict_weakref", None)
    if evict is not None:
        evict(jaxpr)


def lower(function: Callable[..., Any], *avals: Any, **options: Any) -> str:
    """What JAX makes of `function` on arguments like `avals`; the options are jax.jit's.

    `avals` are arrays or jax.ShapeDtypeStructs, or pytrees of them.
    """
    return text_of(staged(function, **options).trace(*avals))
