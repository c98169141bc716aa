"""A compiled function that has rules of its own for jax.vmap: it is mapped as itself, and compiled so.

    program of f(x)  with the rule  program of xs -> jax.vmap(f)(xs)

Others are mapped as their emitted programs are, which have the operations alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.custom_batching import custom_vmap
from jax.sharding import NamedSharding, PartitionSpec

from shardc.jaxside.derivative import Compiled, Flat, differentiable
from shardc.jaxside.lowered import Lowered
from shardc.jaxside.placement import abstract
from shardc.jaxside.untyped import jax


def runnable(function: Flat, program: Lowered, compiled: Compiled) -> Flat:
    """The program as a function of leaves, with the derivative and the rules for jax.vmap of `function`."""
    run = differentiable(function, program, compiled)
    return _mappable(function, program, compiled, run) if program.maps_by_rules else run


def _mappable(function: Flat, program: Lowered, compiled: Compiled, run: Flat) -> Flat:
    mappable: Any = custom_vmap(run)

    @mappable.def_vmap
    def _(size: int, mapped: Sequence[bool], *leaves: Any) -> tuple[list[Any], list[bool]]:
        axes = [0 if is_mapped else None for is_mapped in mapped]

        def each(*values: Any) -> list[Any]:
            return list(jax.vmap(function, in_axes=tuple(axes))(*values))

        given = enumerate(zip(leaves, mapped, strict=True))
        types = [_type(program, i, leaf, is_mapped) for i, (leaf, is_mapped) in given]
        results = list(runnable(each, compiled(each, types), compiled)(*leaves))
        return results, [True] * len(results)

    return mappable


def _type(program: Lowered, number: int, leaf: Any, is_mapped: bool) -> Any:
    """The type of an argument, which lies as one of the program does, and is whole along what is mapped."""
    sharding = program.in_shardings[number]
    if sharding is None or not is_mapped:
        return program.typed_argument(number, leaf)
    return abstract(leaf, NamedSharding(sharding.mesh, PartitionSpec(None, *sharding.spec)))
