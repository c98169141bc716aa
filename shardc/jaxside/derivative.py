"""The derivative of a compiled function: that of the function itself, compiled by shardc too.

    program of f(x)  with the rule  program of (x, dx) -> jax.jvp(f, x, dx)

The emitted program is not differentiated: what JAX lowers has lost custom rules and stop_gradient. Of the
program with the tangents JAX transposes the part that is linear in them, as it does for any function. Where
the function has no such rules, its second derivatives are those of the program with the tangents. Where it
has, the results come from the program itself: newer versions of JAX want them not to depend on the tangents.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jax.custom_derivatives import SymbolicZero

from shardc.jaxside.leaves import plain, typed
from shardc.jaxside.lowered import Lowered, ShardcWarning
from shardc.jaxside.untyped import jax

Flat = Callable[..., Sequence[Any]]
"""A function from leaves to leaves."""

_LEFT_TO_JAX = (
    "the function has a custom_vjp, of which there is no program with tangents: its derivative is left to "
    "JAX and XLA; compile the derivative itself, as shardc.jit(jax.grad(f))"
)


def differentiable(
    function: Flat, program: Lowered, compiled: Callable[[Flat, Sequence[Any]], Lowered]
) -> Flat:
    """The program as a function of leaves, with the derivative of `function`.

    compiled: compiles a function of leaves for arguments of some types.
    """

    @jax.custom_jvp
    def run(*leaves: Any) -> list[Any]:
        return _run(program, leaves)

    @partial(run.defjvp, symbolic_zeros=True)
    def _(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        moved = [i for i, tangent in enumerate(tangents) if not isinstance(tangent, SymbolicZero)]
        moving = [tangents[i] for i in moved]
        pushed = _pushed(function, moved, len(primals))
        if any(name.startswith("custom_vjp") for name in program.own_rules):
            warnings.warn(_LEFT_TO_JAX, ShardcWarning, stacklevel=2)
            return _halves(pushed(*primals, *moving))
        types = [program.typed_argument(i, leaf) for i, leaf in enumerate(primals)]
        types += [types[i] for i in moved]
        if not program.own_rules:
            return _halves(_run(compiled(pushed, types), [*primals, *moving]))

        def of_results(*leaves: Any) -> list[Any]:
            return _halves(pushed(*leaves))[1]

        inner = compiled(of_results, types)
        return run(*primals), differentiable(of_results, inner, compiled)(*primals, *moving)

    return run


def _run(program: Lowered, leaves: Sequence[Any]) -> list[Any]:
    return typed(program.run(*plain(leaves)), jax.tree.leaves(program.results))


def _pushed(function: Flat, moved: Sequence[int], count: int) -> Flat:
    """(primals, tangents of those moved) -> (results, their tangents), as leaves."""

    def pushed(*leaves: Any) -> list[Any]:
        primals = list(leaves[:count])

        def of_moved(*values: Any) -> Sequence[Any]:
            whole = dict(enumerate(primals)) | dict(zip(moved, values, strict=True))
            return function(*whole.values())

        return jax.tree.leaves(jax.jvp(of_moved, [primals[i] for i in moved], list(leaves[count:])))

    return pushed


def _halves(leaves: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    half = len(leaves) // 2
    return list(leaves[:half]), list(leaves[half:])
