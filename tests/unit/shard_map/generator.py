"""Random programs with jax.shard_map: bodies x shapes x specs x manual axes x transformations.

`program(seed)` draws one that JAX accepts, always the same for a seed. What an output varies over is asked of
JAX while it traces the body, so every drawn out_specs is one that JAX's check_vma takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from tests.unit.shard_map.conftest import filled

SIZES = (
    {"x": 2, "y": 2},
    {"x": 2, "y": 4},
    {"x": 4, "y": 2},
    {"x": 2, "y": 2, "z": 2},
    {"x": 4},
    {"x": 1, "y": 4},
)
SHAPES = ((), (8,), (16,), (8, 8), (16, 8), (8, 16), (8, 8, 8))
DTYPES = ("float32", "float32", "float32", "int32")

Axes = tuple[str, ...]
Body = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A function of whole arrays, with the arrays; `in_shardings` are jax.jit's. `text` describes it."""

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    in_shardings: Any
    text: str


def program(seed: int) -> Program:
    """The program of a seed."""
    random = Random(seed)
    while True:
        made = _draw(random)
        if made is not None:
            return made


# Bodies: given a source of chance, the axes that are manual and the local shapes, a function of blocks


def _varying(x: Any) -> frozenset[str]:
    """The axes over which JAX takes a block to vary."""
    return jax.typeof(x).manual_axis_type.varying


def _some(random: Random, axes: Axes) -> Any:
    chosen = random.sample(axes, random.randint(1, len(axes)))
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


def _unary(*functions: Body) -> Callable[[Random, Axes], Body]:
    return lambda random, axes: random.choice(functions)


def _reduction(random: Random, axes: Axes) -> Body:
    name, over = random.choice((lax.psum, lax.pmax, lax.pmin, lax.pmean)), _some(random, axes)
    return lambda x: name(jnp.sin(x), over)


def _sum_of_two(random: Random, axes: Axes) -> Body:
    over = _some(random, axes)
    return lambda x: lax.psum((x, {"y": 2 * x}), over)


def _gather(random: Random, axes: Axes) -> Body:
    over, dim, tiled = _some(random, axes), random.randrange(3), random.random() < 0.6
    to = random.choice(("varying", "invarying"))
    return lambda x: lax.all_gather(x, over, axis=dim % x.ndim, tiled=tiled, to=to)


def _scatter(random: Random, axes: Axes) -> Body:
    over, dim, tiled = _some(random, axes), random.randrange(3), random.random() < 0.7
    return lambda x: lax.psum_scatter(x, over, scatter_dimension=dim % x.ndim, tiled=tiled)


def _exchange(random: Random, axes: Axes) -> Body:
    over, split, concat = _some(random, axes), random.randrange(3), random.randrange(3)
    tiled = random.random() < 0.7
    return lambda x: lax.all_to_all(x, over, split % x.ndim, concat % x.ndim, tiled=tiled)


def _permute(random: Random, axes: Axes) -> Body:
    over, by, whole = _some(random, axes), random.randint(1, 3), random.random() < 0.5

    def body(x: Any) -> Any:
        n = lax.axis_size(over)
        pairs = [(i, (i + by) % n) for i in range(n)]
        return x + lax.ppermute(x, over, pairs if whole else pairs[:-1])

    return body


def _index(random: Random, axes: Axes) -> Body:
    over = _some(random, axes)
    return lambda x: x * (1 + lax.axis_index(over)).astype(x.dtype)


def _marked(random: Random, axes: Axes) -> Body:
    over = _some(random, axes)
    return lambda x: x * lax.pcast(jnp.float32(2.5), over, to="varying")


def _product(random: Random, axes: Axes) -> Body:
    over = _some(random, axes)
    return lambda x, y: lax.psum(jnp.tanh(x @ y), over)


def _scan(random: Random, axes: Axes) -> Body:
    over = _some(random, axes)

    def body(x: Any) -> Any:
        mean = lambda c: lax.psum(c.mean(), axes)  # noqa: E731
        return lax.scan(lambda c, _: (jnp.sin(c) + lax.psum(c, over) * 0.1 * x, mean(c)), x, None, length=3)

    return body


def _ring(random: Random, axes: Axes) -> Body:
    over = random.choice(axes)

    def body(x: Any) -> Any:
        n = lax.axis_size(over)
        turn = lambda c: lax.ppermute(c, over, [(i, (i + 1) % n) for i in range(n)])  # noqa: E731
        x = lax.pcast(x, over, to="varying") if over not in _varying(x) else x
        return lax.fori_loop(0, n, lambda i, c: (turn(c[0]), c[1] + c[0] * i), (x, x))[1]

    return body


def _branch(random: Random, axes: Axes) -> Body:
    over = random.choice(axes)

    def body(x: Any) -> Any:
        x = lax.pcast(x, over, to="varying") if over not in _varying(x) else x
        return lax.cond(lax.axis_index(over) % 2 == 0, jnp.sin, lambda v: v * 2, x)

    return body


def _until(random: Random, axes: Axes) -> Body:
    def goes_on(carried: Any) -> Any:
        return (carried[0] < 8) & (lax.pmax(carried[1].max(), axes) < 20)

    return lambda x: lax.while_loop(goes_on, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1]


BODIES: dict[str, tuple[int, Callable[[Random, Axes], Body]]] = {
    "elementwise": (1, _unary(jnp.sin, jnp.negative, jax.nn.relu, lambda x: x * x + 1, lambda x: x > 0.5)),
    "shape": (
        1,
        _unary(jnp.transpose, jnp.ravel, lambda x: jnp.flip(x, 0), lambda x: x[None], lambda x: x[1:]),
    ),
    "reduce": (1, _unary(jnp.sum, lambda x: x.max(-1), lambda x: x.mean(0), lambda x: jnp.argmax(x, -1))),
    "along": (1, _unary(jax.nn.softmax, jnp.cumsum, lambda x: jnp.sort(x, 0), lambda x: jnp.roll(x, 1, -1))),
    "join": (
        1,
        _unary(lambda x: jnp.concatenate((x, 2 * x)), lambda x: jnp.pad(x, 1), lambda x: jnp.stack((x, x))),
    ),
    "made": (1, _unary(lambda x: x + jnp.arange(x.shape[-1]), lambda x: x * jnp.ones_like(x) + 3)),
    "pair": (2, _unary(jnp.add, jnp.multiply, jnp.matmul, jnp.outer, lambda x, y: (x.sum() * y, y))),
    "einsum": (
        2,
        _unary(lambda x, y: jnp.einsum("ij,kj->ik", x, y), lambda x, y: jnp.einsum("ijk,k->ij", x, y)),
    ),
    "reduction": (1, _reduction),
    "sum of two": (1, _sum_of_two),
    "all_gather": (1, _gather),
    "psum_scatter": (1, _scatter),
    "all_to_all": (1, _exchange),
    "ppermute": (1, _permute),
    "axis_index": (1, _index),
    "pcast": (1, _marked),
    "product": (2, _product),
    "scan": (1, _scan),
    "ring": (1, _ring),
    "branch": (1, _branch),
    "while": (1, _until),
}


# Programs


def _draw(random: Random) -> Program | None:
    """A program, or None if chance drew a body that does not fit its blocks."""
    sizes = random.choice(SIZES)
    names = tuple(sizes)
    mesh = jax.make_mesh(
        tuple(sizes.values()),
        names,
        axis_types=(jax.sharding.AxisType.Auto,) * len(sizes),
        devices=jax.devices()[: int(np.prod(list(sizes.values())))],
    )
    some = random.sample(names, random.randint(1, max(1, len(names) - 1)))
    manual = names if random.random() < 0.65 else tuple(some)
    kind = random.choice(tuple(BODIES))
    count, make = BODIES[kind]
    body = make(random, manual)
    shapes = [random.choice(SHAPES) for _ in range(count)]
    arguments = tuple(filled(*shape, dtype=random.choice(DTYPES)) for shape in shapes)
    in_specs = tuple(_spec(random, len(shape), _subset(random, manual) if shape else ()) for shape in shapes)
    out_specs = _out_specs(random, mesh, body, arguments, in_specs, manual)
    if out_specs is None:
        return None
    options: dict[str, Any] = {"mesh": mesh, "in_specs": in_specs, "out_specs": out_specs}
    checked = random.random() < 0.5
    mapped = jax.shard_map(body, **options, axis_names=set(manual), check_vma=checked)
    way = random.choice(tuple(WAYS)) if random.random() < 0.5 else "plain"
    function = WAYS[way](mapped)
    free = tuple(name for name in names if name not in manual)
    shardings = tuple(
        _free_sharding(random, mesh, shape, free, spec) for shape, spec in zip(shapes, in_specs, strict=True)
    )
    given = _batched(arguments) if way == "vmap" else arguments
    stated = shardings if free and way in ("plain", "around") else None
    try:
        jax.eval_shape(function, *given)
    except (ValueError, TypeError, NotImplementedError):
        return None
    what = f"{way} {kind} over {', '.join(manual)} of {sizes}, checked={checked}"
    text = f"{what}: {shapes} {in_specs} -> {out_specs}"
    return Program(function, given, stated, text)


def _out_specs(random: Random, mesh: Any, body: Body, arguments: Any, in_specs: Any, manual: Axes) -> Any:
    """Specs that join all blocks that may differ, and at times copies; None if a scalar differs."""
    found: list[Any] = []

    def recording(*blocks: Any) -> Any:
        results = body(*blocks)
        found.append(jax.tree.map(lambda r: (_varying(r), jnp.ndim(r)), results))
        return results

    mapped = jax.shard_map(
        recording, mesh=mesh, in_specs=in_specs, out_specs=PartitionSpec(), axis_names=set(manual)
    )
    with contextlib.suppress(ValueError, TypeError, NotImplementedError, IndexError, ZeroDivisionError):
        jax.eval_shape(mapped, *arguments)
    if not found:
        return None
    leaves, tree = jax.tree.flatten(
        found[0], is_leaf=lambda v: isinstance(v, tuple) and isinstance(v[0], frozenset)
    )
    specs: list[Any] = []
    for varying, rank in leaves:
        copies = [name for name in manual if name not in varying and rank and random.random() < 0.15]
        axes = [name for name in manual if name in varying or name in copies]
        if axes and not rank:
            return None
        specs.append(_spec(random, rank, tuple(random.sample(axes, len(axes)))))
    return jax.tree.unflatten(tree, specs)


def _subset(random: Random, axes: Axes) -> Axes:
    return tuple(random.sample(axes, random.randint(0, len(axes))))


def _spec(random: Random, rank: int, axes: Axes) -> PartitionSpec:
    """Each axis in some dimension, several of them in any order."""
    dims: list[list[str]] = [[] for _ in range(rank)]
    for name in axes:
        random.choice(dims).append(name)
    return PartitionSpec(*(tuple(dim) if len(dim) > 1 else dim[0] if dim else None for dim in dims))


def _free_sharding(random: Random, mesh: Any, shape: tuple[int, ...], free: Axes, spec: PartitionSpec) -> Any:
    """How the caller has split an argument over the axes that the body leaves alone."""
    open_dims = [i for i in range(len(shape)) if i >= len(spec) or spec[i] is None]
    if not open_dims or not free or random.random() < 0.3:
        return None
    dims: list[Any] = [None] * len(shape)
    dims[random.choice(open_dims)] = random.choice(free)
    return NamedSharding(mesh, PartitionSpec(*dims))


def _batched(arguments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.stack([a, a * 2 + 1, a - 3]) for a in arguments)


def _gradient(mapped: Body) -> Body:
    def loss(*arguments: Any) -> Any:
        leaves = [
            leaf for leaf in jax.tree.leaves(mapped(*arguments)) if jnp.issubdtype(leaf.dtype, jnp.floating)
        ]
        if not leaves:
            raise TypeError("nothing to differentiate")
        return sum((leaf**2).sum() for leaf in leaves)

    return lambda *arguments: jax.grad(loss, argnums=tuple(range(len(arguments))))(*arguments)


def _around(mapped: Body) -> Body:
    def function(*arguments: Any) -> Any:
        results = mapped(*(jnp.cos(argument) for argument in arguments))
        return jax.tree.map(lambda r: (r + 1).sum() if r.dtype == bool else jnp.tanh(r), results)

    return function


WAYS: dict[str, Callable[[Body], Body]] = {
    "plain": lambda mapped: mapped,
    "grad": _gradient,
    "vmap": jax.vmap,
    "around": _around,
    "jit": jax.jit,
}
