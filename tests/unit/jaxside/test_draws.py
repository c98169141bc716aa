"""Random numbers in functions that shardc.jit compiles: the same bits as JAX's, in one call each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.backend.jax.own_draws import own_threefry2x32
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
random = pytest.importorskip("jax.random")

KINDS = {
    "bits": lambda k, s: random.bits(k, s),
    "uniform": lambda k, s: random.uniform(k, s),
    "between": lambda k, s: random.uniform(k, s, minval=-0.3, maxval=1.7),
    "normal": lambda k, s: random.normal(k, s),
    "bernoulli": lambda k, s: random.bernoulli(k, 0.3, s),
    "gumbel": lambda k, s: random.gumbel(k, s),
    "exponential": lambda k, s: random.exponential(k, s),
    "randint": lambda k, s: random.randint(k, s, -3, 10),
}
CALLS = {"between": "uniform"}


def drawn(function: Any, pod: Any, *args: Any, out: Any = None, **options: Any) -> str:
    """Compares all bits with JAX's; the emitted text."""
    out = pod.way("data", "model") if out is None else out
    lowered = shardc.jit(function, out_shardings=out, **options).lower(*args)
    mine, theirs = jax.tree.leaves(lowered.run(*args)), jax.tree.leaves(jax.jit(function)(*args))
    for one, other in zip(mine, theirs, strict=True):
        assert one.dtype == other.dtype
        if jnp.issubdtype(one.dtype, jnp.inexact):  # XLA's logarithm differs in how it is vectorised
            assert_near(one, other)
        else:
            np.testing.assert_array_equal(one, other)
    return lowered.source


@pytest.fixture
def key() -> Any:
    return random.key_data(random.key(7))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", [("data", "model"), (("model", "data"), None), (None, None)])
def test_each_kind_is_one_call(pod, key, spec):
    text = drawn(lambda k: [kind(k, (8, 24)) for kind in KINDS.values()], pod, key, out=pod.way(*spec))
    device = text.partition("def device_main")[2].partition("@jax.jit")[0]
    module = "own_" if any(spec) else "jax.random."
    assert device.count(module) == len(KINDS)
    for kind in KINDS:
        assert f"{module}{CALLS.get(kind, kind)}(k" in device.replace("(\n            k", "(k")
    assert "def " not in device
    assert "466688986" not in text


def test_blocks_of_all_shapes(pod, key):
    shapes = [((10, 3), ()), ((8,), ("model",)), ((1, 4), (None, "model")), ((2, 1, 4), ("data",))]
    shapes += [((5, 8, 3), (None, "model")), ((4, 2), (None, "data")), ((4, 1, 4), ("model", None, None))]

    def function(k):
        return [random.normal(k, shape) for shape, _ in shapes]

    text = drawn(function, pod, key, out=[pod.way(*spec) for _, spec in shapes])
    assert "while_loop" not in text


def test_blocks_are_drawn_of_what_is_drawn_whole_for_them(pod, key):
    def function(k):
        whole = jax.lax.with_sharding_constraint(random.normal(k, (8, 24)), pod.way())
        return jax.lax.with_sharding_constraint(whole, pod.way("data", "model")) * 2, whole[:, 0]

    text = drawn(lambda k: function(k)[0], pod, key)
    assert 'own_normal(k, (8, 24), ("data", "model"))' in text and "dynamic_slice" not in text
    text = drawn(function, pod, key, out=(pod.way("data", "model"), pod.way()))
    assert "jax.random.normal(k, (8, 24)" in text and "own_normal" not in text


def test_blocks_of_two_numbers_are_no_keys():
    text = """mesh pod[data=2, model=4]

def main(k: u32[2], x: f32[8@data, 8@model]):
    return uniform(k, x.shape) * x
"""
    source = shardc.compile(text).source
    assert 'own_uniform(k, (8, 8), ("data", "model")) * x' in source


def test_one_word_may_be_the_same_on_all_devices(pod, key):
    def device(k):
        number = jnp.arange(3, dtype=jnp.uint32) + 3 * jax.lax.axis_index("model").astype(jnp.uint32)
        return own_threefry2x32(k[0], k[1], jnp.zeros(3, jnp.uint32), number)

    P = jax.sharding.PartitionSpec
    run = jax.jit(jax.shard_map(device, mesh=pod.mesh, in_specs=P(), out_specs=P("model")))
    first, second = run(key)
    np.testing.assert_array_equal(first ^ second, random.bits(key, 12))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_other_floats(pod, key, dtype):
    whole = drawn(lambda k: random.normal(k, (8, 4), dtype), pod, key, out=pod.way())
    assert f"jax.random.normal(k, (8, 4), jnp.{dtype})" in whole
    split = drawn(lambda k: random.normal(k, (8, 4), dtype), pod, key)
    assert "threefry2x32_p.bind(" in split


def test_wide_floats(pod, key):
    with jax.enable_x64(True):
        text = drawn(lambda k: random.normal(k, (8, 4)), pod, key, out=pod.way())
        assert "jax.random.normal(k, (8, 4), jnp.float64)" in text
        drawn(lambda k: random.normal(k, (8, 4)) + random.normal(k, (8, 4), "float32"), pod, key)


def test_keys(pod, key):
    def function(k):
        a, b = random.split(k)
        return random.split(a, (2, 3)), random.fold_in(b, 5), random.fold_in(b, a[0].astype("int32"))

    text = drawn(function, pod, key, out=pod.way())
    assert "jax.random.split(k, 2)" in text
    assert ", (2, 3))" in text
    assert text.count("jax.random.fold_in(") == 2


def test_in_loops_and_beside_data(pod, key, draw):
    def function(k, x):
        def step(x, i):
            keep = random.bernoulli(random.fold_in(k, i), 0.9, x.shape)
            return jnp.where(keep, x / 0.9, 0), random.categorical(k, x).sum()

        return jax.lax.scan(step, x, jnp.arange(3))

    x = draw(8, 16)
    text = drawn(function, pod, key, x, out=(pod.way("data"), pod.way()))
    assert "own_bernoulli(" in text
    assert "jax.random.fold_in(k, " in text


def test_integers_between_numbers_of_the_program(pod, key):
    def function(k, n):
        return random.randint(k, (8, 4), 2, n), random.randint(k, (8,), n, n), random.choice(k, 5, (8,))

    text = drawn(function, pod, key, np.int32(9), out=pod.way("data"))
    assert 'own_randint(k, (8, 4), ("data", ()), 2, n)' in text
    assert 'own_randint(k, (8,), ("data",), n, n)' in text
    assert 'own_randint(k, (8,), ("data",), 0, 5)' in text


def test_a_probability_for_each_element(pod, key, draw):
    p = abs(draw(8, 16))
    text = drawn(lambda k, p: random.bernoulli(k, p), pod, key, p)
    assert 'own_bernoulli(k, p, (8, 16), ("data", "model"))' in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", [("data",), ()])
def test_of_each_of_several_keys(pod, key, spec):
    some = ["bits", "normal", "bernoulli", "randint"]

    def function(k, n):
        keys = random.split(k, 8)
        first, second = jnp.unstack(jax.vmap(random.split)(keys), axis=1)
        of_each = [jax.vmap(lambda k, kind=kind: KINDS[kind](k, (3, 2)))(first) for kind in some]
        numbers = [jax.vmap(lambda k: random.uniform(k, maxval=n))(second)]
        again = jax.vmap(lambda k, i: random.fold_in(k, i))(first, jnp.arange(8) * jnp.int32(n))
        same = jax.vmap(lambda k: random.fold_in(random.fold_in(k, 3), jnp.int32(n)))(again)
        rows = jax.vmap(jax.vmap(lambda k: random.normal(k, (5,))))(
            jax.vmap(lambda k: random.split(k, 4))(same)
        )
        return [*of_each, *numbers, again, rows]

    text = drawn(function, pod, key, np.float32(2.5), out=pod.way(*spec))
    assert "466688986" not in text and "while_loop" not in text
    assert "jax.vmap(jax.random.split)(" in text
    assert "jax.vmap(jax.random.fold_in)(" in text
    assert "jax.vmap(lambda key: jax.random.normal(key, (3, 2), jnp.float32))(" in text
    assert "jax.vmap(jax.vmap(lambda key: jax.random.normal(key, (5,), jnp.float32)))(" in text
    assert ('own_split(k, (8,), ("data",))' in text) == (spec == ("data",))


def test_what_is_nearly_so_stays_as_it_is(pod, key):
    """One constant of the cipher is another; nothing of jax.random's says so."""

    def other(k):
        x = jnp.arange(8, dtype=jnp.uint32)
        from jax.extend.random import threefry2x32_p

        first, second = threefry2x32_p.bind(k[0], k[1], x + 1, x)
        return (first ^ second) >> 9

    text = drawn(other, pod, key, out=pod.way("model"))
    assert "own_bits(" not in text
    assert "jax.random." not in text
    assert "threefry2x32_p.bind(" in text


def test_what_differs_between_devices_is_carried(pod, key, draw):
    """JAX takes what the cipher gives for equal on all devices; a loop wants the type it began with."""

    def function(k, x):
        def drawn_at(k, x):
            def step(carry):
                k, x = carry
                k, own = random.split(k)
                return k, x + random.uniform(own, (3,))

            return jax.lax.while_loop(lambda carry: carry[1].sum() < 9.0, step, (k, x))[1]

        whole = jax.lax.fori_loop(0, 2, lambda i, x: x * random.bernoulli(k, 0.9, x.shape), x)
        return jax.vmap(drawn_at)(random.split(k, 8), x), whole

    text = drawn(function, pod, key, draw(8, 3), out=(pod.way("data"), pod.way("data")))
    assert "own_threefry2x32(" in text
    assert "own_bernoulli(" in text


def test_settings_of_the_caller_change_nothing(pod, key):
    def function(k):
        return random.normal(k, (8, 4))

    lowered = shardc.jit(function, out_shardings=pod.way()).lower(key)
    want = function(key)
    with jax.threefry_partitionable(False), jax.default_prng_impl("rbg"):
        np.testing.assert_array_equal(lowered.run(key), want)


def test_complex_numbers(pod, key):
    text = drawn(lambda k: random.normal(k, (8, 24), jnp.complex64), pod, key)
    assert text.partition("@jax.jit")[0].count("own_normal(") == 2


def test_typed_keys(pod):
    def function(k, x):
        a, b = random.split(k)
        return x + random.normal(a, x.shape), b

    x = np.ones((8, 4), np.float32)
    key = random.key(3)
    found, rest = shardc.jit(function, in_shardings=(None, pod.way("data")))(key, x)
    want, other = jax.jit(function)(key, x)
    assert_near(found, want)
    np.testing.assert_array_equal(random.key_data(rest), random.key_data(other))
    assert rest.dtype == key.dtype


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", [(), ("model",), (("data", "model"),)])
def test_random_orders(pod, key, spec):
    def function(k):
        return random.permutation(k, 24), random.choice(k, 48, (16,), replace=False)

    text = drawn(function, pod, key, out=pod.way(*spec))
    for size in (24, 48):
        assert f"jax.random.permutation(k, jnp.arange({size}, dtype=jnp.int32))" in text
    assert "lax.sort" not in text and "def shuffle" not in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [1, 2, 1624, 1628, 4096])
def test_random_orders_of_many(pod, key, size):
    """More than one sort from 1,626 elements on."""

    def function(k):
        each = jax.shard_map(
            lambda k: random.permutation(k, size),
            mesh=pod.mesh,
            in_specs=jax.P(),
            out_specs=jax.P(),
        )
        return each(k)

    text = drawn(function, pod, key, out=pod.way())
    assert text.count("jax.random.permutation(k, ") == (size > 1)
    assert "lax.sort" not in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", [(), ("data",), (None, "model"), ("model", "data")])
@pytest.mark.parametrize("axis", [0, 1])
def test_arrays_in_a_random_order(pod, key, draw, spec, axis):
    def function(k, x):
        rows = random.permutation(k, x, axis=axis)
        return rows, random.permutation(k, x, axis=axis, independent=True), random.permutation(k, x[0])

    way, whole = pod.way(*spec), pod.way()
    text = drawn(function, pod, key, draw(8, 16), in_shardings=(whole, way), out=(way, way, whole))
    assert f"jax.random.permutation(k, jnp.arange({(8, 16)[axis]}, dtype=jnp.int32))" in text
    if not any(spec):
        assert ", x, independent=True)" in text or ", x, axis=1, independent=True)" in text
        assert "lax.sort" not in text


def test_random_orders_of_split_arrays_stay_split(pod, key, draw):
    """Each device has other columns, whose bits it draws itself."""

    def function(k, x):
        return random.permutation(k, x, independent=True)

    way = pod.way(None, "model")
    text = drawn(function, pod, key, draw(8, 16), in_shardings=(pod.way(), way), out=way)
    assert "own_bits(" in text and "lax.sort(" in text
    assert "all_gather" not in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_random_orders_of_integers(pod, key, dtype):
    with jax.enable_x64(True):
        text = drawn(lambda k: random.permutation(k, jnp.arange(24, dtype=dtype)), pod, key, out=pod.way())
        assert f"jax.random.permutation(k, jnp.arange(24, dtype=jnp.{dtype}))" in text


def test_random_orders_of_several_keys(pod, key):
    def function(k):
        return jax.vmap(lambda own: random.permutation(own, 24))(random.split(k, 4))

    drawn(function, pod, key, out=pod.way("model"))


def test_a_sort_by_other_bits_stays_as_it_is(pod, key):
    def shuffle(k, x):
        own = random.split(k)[0]  # not the other half
        return jax.lax.sort_key_val(random.bits(own, x.shape), x)[1]

    text = drawn(lambda k: jax.jit(shuffle)(k, jnp.arange(24)), pod, key, out=pod.way())
    assert "jax.random.permutation" not in text


def test_one_condition_for_all_of_what_is_indexed(pod, key):
    """A scalar chooses among draws that are indices, whose reads need no bounds where they are known."""

    def chosen(k, x):
        drawn = random.categorical(k, jnp.zeros((3, 6)))
        least = jax.lax.clamp(jnp.int32(1), drawn, drawn[0])
        picked = jnp.where(drawn[0] > 1, drawn, least * 0)
        return jnp.take_along_axis(picked, jnp.resize(picked, (3,)) % 3, axis=0), x

    drawn(chosen, pod, key, pod.put(np.ones((8, 2), np.float32), "data"), out=(pod.way(), pod.way("data")))


def test_choices_with_probabilities_that_are_split(pod, key):
    p = pod.put(np.arange(1, 17, dtype=np.float32) / 136, "data")
    drawn(lambda k, p: random.choice(k, 16, (8,), p=p), pod, key, p, out=pod.way("data"))
