"""Functions of JAX's custom_partitioning: what they compute is partitioned here, as all else is.

JAX's own text has the number of a function in this process that partitions the operation for XLA. Lowered as
the function that it computes, it needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shardc.diagnostics import Diagnostic
from shardc.frontend.jax_equations import equations

_HINT = "it is split as what it computes is; jax.shard_map is for code that is written for blocks"


def inlined() -> tuple[tuple[Any, Any], ...]:
    """The rule of a lowering for such a function, as JAX's parameters of a lowering have it."""
    return ((_module("custom_partitioning").custom_partitioning_p, _as_it_is),)


def _as_it_is(context: Any, *operands: Any, call: Any, **_: Any) -> Any:
    function = _module("core").jaxpr_as_fun(call)
    lower = _module("interpreters.mlir").lower_fun(function, multiple_results=True)
    return lower(context, *operands)


def own_partitions_left_out(closed: Any) -> tuple[Diagnostic, ...]:
    """A warning if a traced function or one in it says how it is to be partitioned."""
    found = [each for each in equations(closed) if each.primitive.name == "custom_partitioning"]
    if not found:
        return ()
    functions = "a function" if len(found) == 1 else f"{len(found)} functions"
    said = f"custom_partitioning says how {functions} would be split: left out"
    return (Diagnostic("warning", said, hint=_HINT),)


def _module(name: str) -> Any:
    return import_module(f"jax._src.{name}")
