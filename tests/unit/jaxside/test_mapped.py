"""Functions that have rules of their own for jax.vmap are mapped by them, and compiled so."""

from __future__ import annotations

import pytest

import shardc
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@jax.custom_batching.custom_vmap
def shifted(x):
    return jnp.sin(x) + 1.0


@shifted.def_vmap
def _(size, mapped, x):
    return jnp.sin(x) + 10.0 * size, mapped[0]  # another number, so that the rule can be told


def energy(w, x):
    return shifted(x) @ w, jnp.sum(shifted(x))


CASES = {
    "one argument": lambda f, w, x: jax.vmap(f, (None, 0))(w, x),
    "another dimension": lambda f, w, x: jax.vmap(f, (None, 2))(w, jnp.moveaxis(x, 0, 2)),
    "both arguments": lambda f, w, x: jax.vmap(f)(jnp.stack([w, w + 1, w + 2]), x),
    "twice": lambda f, w, x: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(jnp.stack([w, w + 1]), x),
    "inside jit": lambda f, w, x: jax.jit(jax.vmap(f, (None, 0)))(w, x),
    "not at all": lambda f, w, x: f(w, x[0]),
    "forward derivatives": lambda f, w, x: jax.jvp(lambda w: f(w, x[0])[0], (w,), (w,)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_of_its_own(name, pod, draw):
    compiled = shardc.jit(energy, in_shardings=(pod.way(None, "model"), pod.way("data")))
    w, x = draw(16, 4), draw(3, 8, 16)
    same(CASES[name](compiled, w, x), CASES[name](energy, w, x))
