"""Random numbers of the language: those of jax.random, for every sharding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.tolerance import assert_near

random = jax.random
LOGITS = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], np.float32))
P = np.array([0.1, 0.5, 0.9], np.float32)
COLUMN = np.array([[0], [3], [-7]])


def results(text: str, *args: Any) -> list[Any]:
    return run(snapshot(read(text, "random.shard")).graph, args)


CASES: list[tuple[str, Any]] = [
    ("uniform(k, (5, 7))", lambda k: random.uniform(k, (5, 7))),
    ("uniform(k, ())", lambda k: random.uniform(k, ())),
    ("uniform(k, 6)", lambda k: random.uniform(k, (6,))),
    (
        "uniform(k, (3, 1, 4), minval=-2, maxval=3)",
        lambda k: random.uniform(k, (3, 1, 4), minval=-2, maxval=3),
    ),
    ("uniform(k, (9,), bf16)", lambda k: random.uniform(k, (9,), jnp.bfloat16)),
    ("uniform(k, (9,), f16)", lambda k: random.uniform(k, (9,), jnp.float16)),
    ("normal(k, (5, 7))", lambda k: random.normal(k, (5, 7))),
    ("normal(k, (64,), bf16)", lambda k: random.normal(k, (64,), jnp.bfloat16)),
    ("bernoulli(k, 0.3, (50,))", lambda k: random.bernoulli(k, 0.3, (50,))),
    ("bernoulli(k, p)", lambda k: random.bernoulli(k, P)),
    ("bernoulli(k, p, (9, 3))", lambda k: random.bernoulli(k, P, (9, 3))),
    ("categorical(k, logits)", lambda k: random.categorical(k, LOGITS)),
    ("categorical(k, logits, axis=0)", lambda k: random.categorical(k, LOGITS, axis=0)),
    ("categorical(k, logits, shape=(20, 2))", lambda k: random.categorical(k, LOGITS, shape=(20, 2))),
    ("split(k)", lambda k: random.key_data(random.split(k))),
    ("split(k, 5)", lambda k: random.key_data(random.split(k, 5))),
    ("split(k, (2, 3))", lambda k: random.key_data(random.split(k, (2, 3)))),
    ("fold_in(k, 7)", lambda k: random.key_data(random.fold_in(k, 7))),
    ("normal(split(k, 3)[1], (4,))", lambda k: random.normal(random.split(k, 3)[1], (4,))),
    ("jax.random.normal(k, (4,))", lambda k: random.normal(k, (4,))),
    ("gumbel(k, (5, 2))", lambda k: random.gumbel(k, (5, 2))),
    ("exponential(k, (5, 2), bf16)", lambda k: random.exponential(k, (5, 2), jnp.bfloat16)),
    ("randint(k, (50,), 0, 100)", lambda k: random.randint(k, (50,), 0, 100)),
    ("randint(k, (3, 20), -7, array([0, 3, -7])[:, None])", lambda k: random.randint(k, (3, 20), -7, COLUMN)),
    ("randint(k, (50,), 0, 256, u8)", lambda k: random.randint(k, (50,), 0, 256, jnp.uint8)),
    ("randint(k, (50,), -1000, 99, i16)", lambda k: random.randint(k, (50,), -1000, 99, jnp.int16)),
    ("permutation(k, 100)", lambda k: random.permutation(k, 100)),
    ("permutation(k, logits, axis=1)", lambda k: random.permutation(k, LOGITS, axis=1)),
    ("permutation(k, logits, 1, True)", lambda k: random.permutation(k, LOGITS, 1, True)),
    ("choice(k, 9)", lambda k: random.choice(k, 9)),
    ("choice(k, 9, (4, 5))", lambda k: random.choice(k, 9, (4, 5))),
    ("choice(k, 9, (2, 3), replace=False)", lambda k: random.choice(k, 9, (2, 3), replace=False)),
    ("choice(k, logits, (4,), axis=1)", lambda k: random.choice(k, LOGITS, (4,), axis=1)),
    ("choice(k, p, (2,), False)", lambda k: random.choice(k, P, (2,), False)),
    ("choice(k, 3, (40,), p=p)", lambda k: random.choice(k, 3, (40,), p=P)),
    ("choice(k, p, (2,), False, p)", lambda k: random.choice(k, P, (2,), False, P)),
]


@pytest.mark.parametrize(("expression", "function"), CASES, ids=[text for text, _ in CASES])
@pytest.mark.parametrize("seed", [0, 123456789])
def test_numbers(expression: str, function: Any, seed: int):
    text = f"def main(p: f32[3], logits: f32[2, 3]):\n    k = key({seed})\n    return {expression}\n"
    (found,) = results(text, P, LOGITS)
    expected = np.asarray(function(random.key(seed)))
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if found.dtype.kind in "iub":
        np.testing.assert_array_equal(found, expected)
    else:
        assert_near(found, expected)


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1, -1, -5])
def test_seeds(seed: int):
    (found,) = results(f"def main():\n    return key({seed})\n")
    (computed,) = results("def main(s: i32[]):\n    return key(s)\n", np.int32(seed))
    expected = np.asarray(random.key_data(random.key(np.int32(seed))))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(computed, expected)


def test_keys_come_apart_by_names_and_in_loops():
    text = """
def main(x: f32[4]):
    a, b = split(key(3))
    for k in split(a, 3) carrying x:
        x = x + normal(k, (4,))
    return x, dropout(b, x, 0.5)
"""
    x = np.zeros(4, np.float32)
    found, dropped = results(text, x)
    a, b = random.split(random.key(3))
    for k in random.split(a, 3):
        x = x + random.normal(k, (4,))
    assert_near(found, x)
    kept = random.bernoulli(b, 0.5, (4,))
    assert_near(dropped, jnp.where(kept, x / 0.5, 0))


def test_each_device_makes_its_own():
    text = """
mesh m[i=2, j=2]

def main(k: u32[2], x: f32[8@i, 16@j]) -> f32[8@i, 16@j]:
    return dropout(k, x + normal(k, (8, 16)), 0.25)
"""
    compiled = shardc.compile(text)
    assert "lax.p" not in compiled.source.replace("lax.pcast", "") and "all_gather" not in compiled.source
    assert 'own_normal(k, (8, 16), ("i", "j"))' in compiled.source
    key, x = random.key(5), np.ones((8, 16), np.float32)
    kept = random.bernoulli(key, 0.75, x.shape)
    expected = jnp.where(kept, (x + random.normal(key, x.shape)) / 0.75, 0)
    found = compiled.main(np.asarray(random.key_data(key)), x)
    assert_near(found, expected)


def test_gradients_go_by_random_numbers():
    text = """
def loss(x: f32[16], k: u32[2]) -> f32[]:
    return sum(dropout(k, x * x, 0.5) * normal(k, (16,)))

def main(x: f32[16], k: u32[2]):
    return grad(loss)(x, k)
"""
    x = np.linspace(-1, 1, 16, dtype=np.float32)
    key = random.key(9)

    def loss(x):
        kept = random.bernoulli(key, 0.5, (16,))
        return jnp.sum(jnp.where(kept, x * x / 0.5, 0) * random.normal(key, (16,)))

    (found,) = results(text, x, np.asarray(random.key_data(key)))
    assert_near(found, jax.grad(loss)(x))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("normal(x, (4,))", "normal: a key is a u32[2], not f32[4]"),
        ("normal(split(k), (4,))", "normal: a key is a u32[2], not u32[2, 2]"),
        ("normal(k, (4,), i32)", "normal of i32: the dtypes are f64, f32, f16, bf16"),
        ("key(0.5)", "the seed of a key is a whole number below 2^64, not 0.5"),
        ("key(2 ** 64)", "the seed of a key is a whole number below 2^64"),
        ("uniform(k, (2 ** 17, 2 ** 16))", "random numbers at once; 2^32 are possible"),
        ("split(x)", "split: sections is missing"),
        ("dropout(k, x, 1.0)", "dropout: rate is 1.0, and should be at least 0 and below 1"),
        ("categorical(k, reshape(x, (2, 2)), shape=(3,))", "categorical: the shape ends with"),
    ],
)
def test_errors(expression: str, message: str):
    with pytest.raises(ShardcError) as caught:
        read(f"def main(x: f32[4], k: u32[2]):\n    return {expression}\n", "random.shard")
    assert message in str(caught.value)
