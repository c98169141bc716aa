"""Arrays that functions inside a compiled one capture: split as they lie, in whatever holds them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import shardc
from shardc.jaxside.warned import ShardcWarning
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
lax = jax.lax
P = jax.sharding.PartitionSpec

ONES = np.ones((3, 8), np.float32)
TABLE = np.arange(8, dtype=np.float32)

FORMS = {
    "jit": lambda f, g: lambda x: f(x) + g(x),
    "scan": lambda f, g: lambda x: lax.scan(lambda c, s: (jnp.tanh(f(c) + s), g(c)[0]), x, ONES),
    "fori_loop": lambda f, g: lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(f(c)), x),
    "while_loop": lambda f, g: (
        lambda x: lax.while_loop(lambda c: f(c).sum() < 40.0, lambda c: jnp.tanh(g(c)) + 1, x)
    ),
    "cond": lambda f, g: lambda x: lax.cond(x[0, 0] > 0, f, g, x),
    "switch": lambda f, g: (
        lambda x: lax.switch((x[0, 0] > 0).astype(int) + 1, [f, lambda x: x, lambda x: g(x) + f(x)], x)
    ),
    "remat": lambda f, g: jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(f(y)))(x).sum()),
    "grad": lambda f, g: jax.grad(lambda x: jnp.sin(g(x)).sum()),
    "grad of scan": lambda f, g: jax.grad(
        lambda x: lax.scan(lambda c, s: (jnp.tanh(f(c) + s), None), x, ONES)[0].sum()
    ),
    "vmap": lambda f, g: jax.vmap(f),
    "composite": lambda f, g: lambda x: lax.composite(lambda y: f(y), "test.form")(x),
    "linear_solve": lambda f, g: lambda x: lax.custom_linear_solve(f, x, lambda _, b: g(b)),
}


def ruled(rule):
    """A function with a derivative of its own."""

    def form(f, g):
        def of(x):
            return f(x)

        if rule is jax.custom_jvp:
            made = rule(of)
            made.defjvp(lambda primals, tangents: (made(*primals), jax.jvp(f, primals, tangents)[1]))
        else:
            made = rule(of)
            made.defvjp(lambda x: (made(x), x), lambda x, grad: (g(grad * x),))
        return lambda x: (made(x), jax.grad(lambda x: made(x).sum())(x))

    return form


FORMS |= {"custom_jvp": ruled(jax.custom_jvp), "custom_vjp": ruled(jax.custom_vjp)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", FORMS)
def test_arrays_that_inner_functions_hold_stay_split(pod, draw, form):
    w, v = pod.put(draw(8, 8) / 4 + np.eye(8), None, "model"), pod.put(draw(8, 8) / 4, "data")
    f = jax.jit(lambda y: y @ w + TABLE)
    g = jax.jit(lambda y: jnp.sin(jax.jit(lambda y: y @ w)(y)) @ v)
    made = FORMS[form](f, g)
    compiled, x = shardc.jit(made), draw(8, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = compiled.lower(x).source
    head = source.partition("def device_main(")[2].partition(")")[0].split(", ")
    assert sorted(head)[-2:] in (["v", "w"], ["w", "x"], ["w", "y"])
    assert "f32[8, 2] of f32[8, 8@model]" in source
    for array in (w, v):
        assert f"{float(array[0, 0]):.5}" not in source
    same(compiled(x), made(x))


def test_an_array_held_by_many_is_one_argument(pod, draw):
    w = pod.put(draw(8, 8), "data")
    f, x = jax.jit(lambda y: jnp.sin(y @ w)), draw(8, 8)

    def function(x):
        return f(f(x)) @ w + lax.scan(lambda c, _: (f(c) + w, None), x, length=3)[0]

    compiled = shardc.jit(function)
    source = compiled.lower(x).source
    assert "def device_main(w, x):" in source
    same(compiled(x), jax.jit(function)(x))


def test_in_per_device_code(pod, draw):
    w, x = pod.put(draw(8, 8), "data"), draw(8, 8)
    f = jax.jit(lambda y: y @ w)
    mapped = jax.shard_map(f, mesh=pod.mesh, in_specs=P("data"), out_specs=P("data"))
    source = shardc.jit(lambda x: mapped(x)).lower(x).source
    assert "def device_main(w, x):" in source
    same(shardc.jit(lambda x: mapped(x))(x), x @ np.asarray(w))


def test_on_an_explicit_mesh(pod, draw):
    w = jax.device_put(draw(8, 8), jax.sharding.NamedSharding(pod.explicit, P(None, "model")))
    f, x = jax.jit(lambda y: jnp.sin(y @ w)), draw(8, 8)
    for made in (lambda x: f(x) + 1, lambda x: lax.map(lambda row: f(row[None])[0] + 1, x)):
        assert "def device_main(w, x):" in shardc.jit(made).lower(x).source
        same(shardc.jit(made)(x), np.sin(x @ np.asarray(w)) + 1)


def test_other_arrays_that_inner_functions_hold_are_constants(pod, draw):
    b = jnp.asarray(draw(8))
    f = jax.jit(lambda y: y + b)
    program = shardc.jit(lambda x: f(x) * 2, in_shardings=pod.way("data")).lower(draw(8, 8))
    assert program.program.captured == ()


@pytest.mark.parametrize("form", ["outside", "jit", "scan"])
def test_large_ones_that_are_constants_are_said(pod, draw, form):
    w, x = jnp.asarray(draw(600, 600)), draw(8, 600)
    functions = {
        "outside": lambda x: x @ w,
        "jit": jax.jit(lambda x: x @ w),
        "scan": lambda x: lax.scan(lambda c, _: (jax.jit(lambda c: c @ w)(c), None), x, None, length=1)[0],
    }
    function = functions[form]
    compiled = shardc.jit(lambda x: function(x) * 2, in_shardings=pod.way("data"))
    said = r"captures an array float32\[600, 600\] of 1.4 MiB: constants in the program's text"
    with pytest.warns(ShardcWarning, match=said):
        got = compiled(x)
    same(got, x @ np.asarray(w) * 2)
    split = pod.put(w, None, "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShardcWarning)
        shardc.jit(lambda x: x @ split + draw(8)[:, None])(x)


def test_what_cannot_be_given_operands_is_said(pod, draw):
    w, x = pod.put(draw(8, 8), "data"), draw(8, 8)
    held = jax.make_jaxpr(jax.jit(lambda y: y @ w))(x)
    wrapped = jax.extend.core.Primitive("wrapped")
    wrapped.def_abstract_eval(lambda x, *, inner: inner.out_avals[0])
    run = jax.interpreters.mlir.lower_fun(
        lambda x, *, inner: jax.extend.core.jaxpr_as_fun(inner)(x)[0], multiple_results=False
    )
    jax.interpreters.mlir.register_lowering(wrapped, run)

    def function(x):
        return wrapped.bind(x, inner=held)

    compiled = shardc.jit(function, in_shardings=pod.way("data"))
    with pytest.warns(ShardcWarning, match=r"float32\[8,8\] on 8 devices is captured inside wrapped"):
        got = compiled(x)
    same(got, x @ np.asarray(w))


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_from_jax_takes_them_first(pod, draw, target):
    w, x = pod.put(draw(8, 8), None, "model"), draw(8, 8)
    f = jax.jit(lambda y: y @ w)
    program = shardc.from_jax(lambda x: lax.fori_loop(0, 2, lambda i, c: jnp.tanh(f(c)), x), x, target=target)
    assert program.captured == (w,)
    assert "def main(w, x):" in program.source
    same(program.main(x), np.tanh(np.tanh(x @ np.asarray(w)) @ np.asarray(w)))


def test_objects_that_are_called_name_their_arrays(pod):
    class Layer:
        def __init__(self):
            self.kernel = pod.put(np.ones((8, 4), np.float32), "data")

        def __call__(self, x):
            return x @ self.kernel

    layer = Layer()
    source = shardc.jit(lambda x: jax.jit(lambda y: layer(y))(x)).lower(np.ones((4, 8), np.float32)).source
    assert "def device_main(kernel, x):" in source
