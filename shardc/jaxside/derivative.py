"""The derivative of a compiled function: that of the function itself, compiled by shardc too.

    program of f(x)  with the rule  program of (x, dx) -> jax.jvp(f, x, dx)

The emitted program is not differentiated: what JAX lowers has lost custom rules and stop_gradient. Where the
function has none of these, it is compiled with its tangents, JAX transposes the part that is linear in them,
and second derivatives are those of that program. Where it has, two programs are compiled,

    x -> f(x) and r, what the derivative needs      with such a rule of its own, for second derivatives
    (r, dx) -> dy, linear in dx, without rules      which JAX may transpose, and differentiate in r
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jax.custom_derivatives import SymbolicZero
from msgspec import Struct

from shardc.jaxside.leaves import plain, typed
from shardc.jaxside.lowered import Lowered
from shardc.jaxside.untyped import jax, jax_core
from shardc.jaxside.warned import warn

Flat = Callable[..., Sequence[Any]]
"""A function from leaves to leaves."""

Compiled = Callable[[Flat, Sequence[Any]], Lowered]
"""Compiles a function of leaves for arguments of some types."""

_LEFT_TO_JAX = (
    "the function has a custom_vjp, of which there is no program with tangents: its derivative is left to "
    "JAX and XLA; compile the derivative itself, as shardc.jit(jax.grad(f))"
)


def differentiable(function: Flat, program: Lowered, compiled: Compiled) -> Flat:
    """The program as a function of leaves, with the derivative of `function`."""

    @jax.custom_jvp
    def run(*leaves: Any) -> list[Any]:
        return _run(program, leaves)

    @partial(run.defjvp, symbolic_zeros=True)
    def _(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        moved = [i for i, tangent in enumerate(tangents) if not isinstance(tangent, SymbolicZero)]
        moving = [tangents[i] for i in moved]
        pushed = _Pushed(function, moved, len(primals))
        if any(name.startswith("custom_vjp") for name in program.own_rules):
            warn(_LEFT_TO_JAX)
            return _halves(pushed.together(*primals, *moving))
        types = [program.typed_argument(i, leaf) for i, leaf in enumerate(primals)]
        types += [types[i] for i in moved]
        if not program.own_rules:
            return _halves(_run(compiled(pushed.together, types), [*primals, *moving]))

        return _in_two(pushed, primals, moving, types, compiled)

    return run


def _run(program: Lowered, leaves: Sequence[Any]) -> list[Any]:
    return typed(program.run(*program.nested(plain(leaves))), jax.tree.leaves(program.results))


class _Pushed(Struct, frozen=True, eq=False):
    """A function with tangents for those of its `count` leaves that are moved."""

    function: Flat
    moved: Sequence[int]
    count: int

    def together(self, *leaves: Any) -> list[Any]:
        """(leaves, tangents of those moved) -> (results, their tangents)."""
        primals = leaves[: self.count]
        of_moved, moved = self._of_moved(primals)
        return jax.tree.leaves(jax.jvp(of_moved, moved, list(leaves[self.count :])))

    def linear(self, *primals: Any) -> tuple[list[Any], Any]:
        """The results, and the linear function of the tangents: a tree, whose leaves it needs."""
        of_moved, moved = self._of_moved(primals)
        return jax.linearize(of_moved, *moved)

    def _of_moved(self, primals: Sequence[Any]) -> tuple[Flat, list[Any]]:
        def of_moved(*values: Any) -> list[Any]:
            whole = dict(enumerate(primals)) | dict(zip(self.moved, values, strict=True))
            return list(self.function(*whole.values()))

        return of_moved, [primals[i] for i in self.moved]


def _in_two(
    pushed: _Pushed, primals: Sequence[Any], moving: Sequence[Any], types: Sequence[Any], compiled: Compiled
) -> tuple[list[Any], list[Any]]:
    """Results and tangents by two programs: one with what the derivative needs, one linear in tangents."""
    traced, shapes = jax.make_jaxpr(pushed.linear, return_shape=True)(*types[: pushed.count])

    def first(*leaves: Any) -> list[Any]:
        return jax_core().jaxpr_as_fun(traced)(*leaves)

    program = compiled(first, types[: pushed.count])
    results, needed = jax.tree.unflatten(
        jax.tree.structure(shapes), differentiable(first, program, compiled)(*primals)
    )
    leaves, tree = jax.tree.flatten(needed)

    def second(*leaves: Any) -> list[Any]:
        return jax.tree.leaves(jax.tree.unflatten(tree, leaves[: -len(moving)])(*leaves[-len(moving) :]))

    kept = range(len(results), len(results) + len(leaves))
    typed_leaves = [program.typed_result(i, leaf) for i, leaf in zip(kept, leaves, strict=True)]
    linear = compiled(second, [*typed_leaves, *types[pushed.count :]])
    return results, _run(linear, [*leaves, *moving])


def _halves(leaves: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    half = len(leaves) // 2
    return list(leaves[:half]), list(leaves[half:])
