"""Bodies for systematic.py: functions of blocks, most of them small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Axes = tuple[str, ...]
Body = Callable[..., Any]


@dataclass(frozen=True)
class Kind:
    """A body: how many blocks it takes, whether blocks of these shapes fit, and whether it communicates."""

    count: int
    make: Callable[[Random, Axes], Body]
    fits: Callable[..., bool] = lambda *shapes: True
    talks: bool = False


def _free(function: Body, count: int = 1, fits: Callable[..., bool] = lambda *shapes: True) -> Kind:
    return Kind(count, lambda random, axes: function, fits)


def _contracts(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    return x[-1] == y[-2 if len(y) > 1 else 0]


def _alike(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    return x == y


def _over(random: Random, axes: Axes) -> Any:
    chosen = tuple(random.sample(axes, random.randint(1, len(axes))))
    return chosen[0] if len(chosen) == 1 else chosen


def _reduced(random: Random, axes: Axes) -> Body:
    over, reduce = _over(random, axes), random.choice((lax.psum, lax.pmean))
    return lambda x: jnp.cos(reduce(jnp.sin(x), over))


def _extreme(random: Random, axes: Axes) -> Body:
    over, reduce = _over(random, axes), random.choice((lax.pmax, lax.pmin))
    return lambda x: reduce(lax.stop_gradient(x), over) * x


def _product_summed(random: Random, axes: Axes) -> Body:
    over = _over(random, axes)
    return lambda x, y: lax.psum(jnp.dot(x, jnp.sin(y)), over)


def _gathered(random: Random, axes: Axes) -> Body:
    over, dim, tiled = _over(random, axes), random.randrange(3), random.random() < 0.5
    to = random.choice(("varying", "invarying"))
    return lambda x: lax.all_gather(jnp.sin(x), over, axis=dim % x.ndim, tiled=tiled, to=to)


def _scattered(random: Random, axes: Axes) -> Body:
    over, dim = _over(random, axes), random.randrange(3)
    tiled = random.random() < 0.5

    def body(x: Any) -> Any:
        n = lax.axis_size(over)
        wide = jnp.concatenate([x * (k + 1) for k in range(n)], dim % x.ndim) if tiled else jnp.stack([x] * n)
        return lax.psum_scatter(wide, over, scatter_dimension=dim % x.ndim if tiled else 0, tiled=tiled)

    return body


def _exchanged(random: Random, axes: Axes) -> Body:
    over, split, concat = _over(random, axes), random.randrange(3), random.randrange(3)
    tiled = random.random() < 0.5

    def body(x: Any) -> Any:
        n, dim = lax.axis_size(over), split % x.ndim
        if tiled:
            wide = jnp.concatenate([x * (k + 1) for k in range(n)], dim)
            return lax.all_to_all(wide, over, dim, concat % x.ndim, tiled=True)
        return lax.all_to_all(jnp.stack([x + k for k in range(n)], dim), over, dim, concat % x.ndim)

    return body


def _passed(random: Random, axes: Axes) -> Body:
    over, by, lost = _over(random, axes), random.randint(1, 3), random.randint(0, 2)

    def body(x: Any) -> Any:
        n = lax.axis_size(over)
        pairs = [(k, (k + by) % n) for k in range(n)][: max(0, n - lost)]
        return jnp.sin(x) * lax.ppermute(x, over, pairs)

    return body


def _numbered(random: Random, axes: Axes) -> Body:
    over = _over(random, axes)
    return lambda x: x * (lax.axis_index(over) + 1)


def _looped(random: Random, axes: Axes) -> Body:
    over, whole = _over(random, axes), random.random() < 0.5

    def body(x: Any) -> Any:
        start = lax.pcast(x, _missing(x, over), to="varying") if _missing(x, over) else x

        def turn(carried: Any, k: Any) -> tuple[Any, Any]:
            step = lax.psum(carried, over) if whole else carried * (k + lax.axis_index(over))
            return jnp.sin(carried) + 0.1 * step, carried.sum(-1)

        return lax.scan(turn, start, jnp.arange(3.0))

    return body


def _chosen(random: Random, axes: Axes) -> Body:
    over = _over(random, axes)

    def body(x: Any) -> Any:
        start = lax.pcast(x, _missing(x, over), to="varying") if _missing(x, over) else x
        return lax.cond(lax.axis_index(over) == 0, jnp.sin, lambda v: v * v, start)

    return body


def _missing(x: Any, over: Any) -> Axes:
    names = over if isinstance(over, tuple) else (over,)
    return tuple(name for name in names if name not in varying(x))


def varying(x: Any) -> frozenset[str]:
    """The axes over which JAX takes a block to vary."""
    return jax.typeof(x).manual_axis_type.varying


@jax.custom_vjp
def _clipped(x: Any) -> Any:
    return jnp.sin(x)


_clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.clip(g, -0.5, 0.5) * x,))

KINDS: dict[str, Kind] = {
    "same": _free(lambda x: x),
    "swapped": _free(lambda x, y: (y, x), 2),
    "transposed": _free(lambda x: x.T),
    "flat": _free(jnp.ravel),
    "dot": _free(jnp.dot, 2, _contracts),
    "sin dot sin": _free(lambda x, y: jnp.sin(jnp.dot(jnp.sin(x), y)), 2, _contracts),
    "relu": _free(lambda x: jax.nn.relu(x + 1) - 1),
    "chain": _free(lambda x: jnp.tanh(jnp.exp(-x) * 3 + x) / (1 + x * x)),
    "pair": _free(lambda x, y: {"sum": x + y, "product": x * jnp.cos(y)}, 2, _alike),
    "along": _free(lambda x: (jax.nn.softmax(x, 0), jnp.cumsum(x, -1), x.mean(0, keepdims=True))),
    "moved": _free(lambda x: (jnp.roll(x, 1, -1), jnp.pad(x, 1), x[..., None])),
    "half": _free(lambda x: jnp.round(8 * x).astype(jnp.bfloat16) * 2 + 1),
    "small": _free(lambda x: ((x * 9).astype(jnp.int8) // 2, x > 0.5, jnp.argmax(x, -1)[..., None])),
    "made": _free(lambda x: x + jnp.arange(x.shape[-1]) * jnp.ones_like(x)),
    "own gradient": Kind(1, lambda random, axes: _clipped, talks=True),  # of what is summed over copies
    "reduced": Kind(1, _reduced, talks=True),
    "extreme": Kind(1, _extreme, talks=True),
    "product": Kind(2, _product_summed, _contracts, talks=True),
    "gathered": Kind(1, _gathered, talks=True),
    "scattered": Kind(1, _scattered, talks=True),
    "exchanged": Kind(1, _exchanged, talks=True),
    "passed": Kind(1, _passed, talks=True),
    "numbered": Kind(1, _numbered, talks=True),
    "looped": Kind(1, _looped, talks=True),
    "chosen": Kind(1, _chosen, talks=True),
}
