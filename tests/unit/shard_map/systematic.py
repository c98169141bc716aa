"""shard_map systematically: small bodies x block shapes x specs x what one does with a function.

JAX tests its own shard_map in this manner. `case(seed)` draws a body, a mesh, the shapes of the blocks, any
in_specs, and out_specs that name at least the axes over which the body's results vary; block shapes are odd,
and axes may have one device. The function is then used as it is, unchecked, by gradients of first and second
order, with arguments that the body closes over instead of taking them, under vmap (along any dimension, with
spmd_axis_name), under remat, in a scan.

What is right is computed without shard_map where the body does not communicate (`sequential`: block by
block), and else by JAX.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec

from tests.unit.shard_map.bodies import KINDS, Axes, Body, varying
from tests.unit.shard_map.mapped import Mapped, Out, Spec, mesh_of

MESHES: tuple[dict[str, int], ...] = (
    {"i": 1},
    {"i": 1, "j": 1},
    {"i": 1, "j": 2},
    {"i": 2, "j": 2},
    {"i": 2, "j": 4},
    {"i": 4, "j": 2},
    {"i": 2, "j": 2, "k": 2},
    {"i": 8},
)
SHAPES = [shape for rank in (1, 2, 3) for shape in itertools.permutations((1, 2, 3), rank)]
TOGETHER = 5
"""How many functions vmap makes one of."""


@dataclass(frozen=True)
class Case:
    """A function of whole arrays, with the arrays, and what gives the right results. `text` describes it."""

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    reference: Callable[..., Any]
    text: str


# What is done with one


Made = tuple[Body, tuple[np.ndarray, ...], Body]
"""A function, its arguments, and what gives the right results."""


def _right(mapped: Mapped) -> Body:
    whole = len(mapped.manual) == len(mapped.sizes)
    return mapped if mapped.kind.talks or not whole else mapped.sequential


def _plain(mapped: Mapped) -> Made:
    return mapped.__call__, mapped.arguments, _right(mapped)


def _unchecked(mapped: Mapped) -> Made:
    return lambda *args: mapped(*args, check_vma=False), mapped.arguments, _right(mapped)


def _loss(function: Body) -> Body:
    """A number, in which each element of the results has a weight of its own."""

    def number(*args: Any) -> Any:
        leaves = [
            leaf for leaf in jax.tree.leaves(function(*args)) if jnp.issubdtype(leaf.dtype, jnp.floating)
        ]
        if not leaves:
            raise TypeError("nothing to differentiate")
        return sum(
            (jnp.sin(leaf) * jnp.linspace(1, 2, leaf.size).reshape(leaf.shape)).sum() for leaf in leaves
        )

    return number


def _gradients(mapped: Mapped, function: Body, right: Body | None = None) -> Made:
    every = tuple(range(len(mapped.arguments)))

    def first(of: Body) -> Body:
        return lambda *args: jax.grad(_loss(of), every)(*args)

    def second(of: Body) -> Body:
        return lambda *args: jax.jvp(jax.grad(_loss(of), every), args, jax.tree.map(jnp.cos, args))

    order = mapped.random.choice((first, second))
    return order(function), mapped.arguments, order(right or _right(mapped))


def _gradient(mapped: Mapped) -> Made:
    return _gradients(mapped, jax.jit(mapped.__call__) if mapped.random.random() < 0.5 else mapped)


def _gradient_unchecked(mapped: Mapped) -> Made:
    """JAX's own where the body communicates: it is another one than the checked body's."""

    def unchecked(*args: Any) -> Any:
        return mapped(*args, check_vma=False)

    return _gradients(mapped, unchecked, unchecked if mapped.kind.talks else None)


def _remat(mapped: Mapped) -> Made:
    return _gradients(mapped, jax.checkpoint(mapped.__call__))


def _closing(mapped: Mapped) -> Body:
    """Of a factor and of the arguments: the body closes over what is not split, and over the factor."""
    taken = [any(spec) for spec in mapped.in_specs]

    def function(factor: Any, *args: Any) -> Any:
        def body(*blocks: Any) -> Any:
            rest = iter(blocks)
            return mapped.body(*(factor * next(rest) if t else a for t, a in zip(taken, args, strict=True)))

        specs = [spec for spec, t in zip(mapped.in_specs, taken, strict=True) if t]
        return mapped.of(body, specs)(*(a for a, t in zip(args, taken, strict=True) if t))

    return function


FACTOR = np.array(0.2, np.float32)


def _closure(mapped: Mapped) -> Made:
    function = _closing(mapped)
    if mapped.random.random() < 0.5:
        return function, (FACTOR, *mapped.arguments), function
    every = tuple(range(len(mapped.arguments) + 1))
    gradient = lambda *args: jax.grad(_loss(function), every)(*args)  # noqa: E731
    return gradient, (FACTOR, *mapped.arguments), gradient


def _along(mapped: Mapped) -> tuple[tuple[int | None, ...], tuple[np.ndarray, ...]]:
    """Dimensions for vmap, and arguments that have them."""
    random = mapped.random
    dims = [random.choice((None, *range(x.ndim + 1))) for x in mapped.arguments]
    if all(dim is None for dim in dims):
        dims[0] = 0
    scales = np.arange(1, TOGETHER + 1, dtype=np.float32)
    arguments = tuple(
        x if dim is None else np.moveaxis(np.multiply.outer(scales, x), 0, dim)
        for x, dim in zip(mapped.arguments, dims, strict=True)
    )
    return tuple(dims), arguments


def _vmap(mapped: Mapped) -> Made:
    dims, arguments = _along(mapped)
    return jax.vmap(mapped.__call__, dims), arguments, jax.vmap(_right(mapped), dims)


def _vmap_closure(mapped: Mapped) -> Made:
    dims, arguments = _along(mapped)
    function = jax.vmap(_closing(mapped), (0, *dims))
    return function, (np.arange(float(TOGETHER), dtype=np.float32), *arguments), function


def _vmap_split(mapped: Mapped) -> Made:
    """The new dimension is split over an axis that no spec names."""
    outs = [out.spec for out in jax.tree.leaves(mapped.out_specs, is_leaf=lambda s: isinstance(s, Out))]
    named = {name for spec in (*mapped.in_specs, *outs) for axes in spec for name in axes}
    free = [name for name in mapped.manual if name not in named]
    if not free or mapped.kind.talks:
        raise TypeError("no axis is free")
    count = mapped.sizes[free[0]]
    arguments = tuple(np.stack([x * (k + 1) for k in range(count)]) for x in mapped.arguments)
    return jax.vmap(mapped.__call__, spmd_axis_name=free[0]), arguments, jax.vmap(_right(mapped))


def _scan(mapped: Mapped) -> Made:
    def looped(of: Body) -> Body:
        return lambda *args: lax.scan(lambda c, k: (c + k, of(*(a * c for a in args))), 0.5, jnp.arange(3.0))

    return looped(mapped), mapped.arguments, looped(_right(mapped))


WAYS: dict[str, Callable[[Mapped], Made]] = {
    "plain": _plain,
    "unchecked": _unchecked,
    "gradient": _gradient,
    "unchecked gradient": _gradient_unchecked,
    "remat": _remat,
    "closure": _closure,
    "vmap": _vmap,
    "vmap closure": _vmap_closure,
    "vmap split": _vmap_split,
    "scan": _scan,
}


# Drawing


def case(seed: int) -> Case:
    """The case of a seed."""
    random = Random(seed)
    while True:
        made = _draw(random)
        if made is not None:
            return made


def _draw(random: Random) -> Case | None:
    """A case, or None if what was drawn does not fit, or JAX does not have it."""
    name = random.choice(tuple(KINDS))
    kind, sizes = KINDS[name], random.choice(MESHES)
    every = tuple(sizes)
    manual = every if random.random() < 0.75 else (random.choice(every),)
    shapes = [random.choice(SHAPES) for _ in range(kind.count)]
    if not kind.fits(*shapes):
        return None
    in_specs = tuple(_spec(random, len(shape), _subset(random, manual)) for shape in shapes)
    arguments = tuple(_filled(_whole(s, spec, sizes)) for s, spec in zip(shapes, in_specs, strict=True))
    body = kind.make(random, manual)
    out_specs = _out_specs(random, sizes, body, arguments, in_specs, manual)
    if out_specs is None:
        return None
    way = random.choice(tuple(WAYS))
    try:
        mapped = Mapped(random, kind, body, sizes, manual, in_specs, out_specs, arguments)
        function, given, reference = WAYS[way](mapped)
        jax.eval_shape(function, *given)
    except (ValueError, TypeError, IndexError, NotImplementedError):
        return None
    text = f"{way} of {name}, per device of {manual} of {sizes}: {shapes} {in_specs} -> {out_specs}"
    return Case(function, given, reference, text)


def _filled(shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape))
    return (np.arange(size, dtype=np.float32) / size - 0.3).reshape(shape)


def _whole(shape: tuple[int, ...], spec: Spec, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(
        n * int(np.prod([sizes[name] for name in axes])) for n, axes in zip(shape, spec, strict=True)
    )


def _subset(random: Random, axes: Axes) -> Axes:
    return tuple(random.sample(axes, random.randint(0, len(axes))))


def _spec(random: Random, rank: int, axes: Axes) -> Spec:
    dims: list[list[str]] = [[] for _ in range(rank)]
    for name in axes:
        random.choice(dims).append(name)
    return tuple(map(tuple, dims))


def _out_specs(
    random: Random,
    sizes: dict[str, int],
    body: Body,
    arguments: Any,
    in_specs: tuple[Spec, ...],
    manual: Axes,
) -> Any:
    """Specs that name every axis that a result varies over, and others at times; None if JAX refuses."""
    found: list[Any] = []

    def recording(*blocks: Any) -> Any:
        results = body(*blocks)
        found.append(jax.tree.map(lambda r: _Seen(varying(r), jnp.ndim(r)), results))
        return results

    specs = tuple(PartitionSpec(*spec) for spec in in_specs)
    mapped = jax.shard_map(
        recording, mesh=mesh_of(sizes), in_specs=specs, out_specs=PartitionSpec(), axis_names=set(manual)
    )
    with contextlib.suppress(ValueError, TypeError, IndexError, NotImplementedError):
        jax.eval_shape(mapped, *arguments)
    if not found:
        return None
    seen, tree = jax.tree.flatten(found[0], is_leaf=lambda v: isinstance(v, _Seen))
    if any(one.varying and not one.rank for one in seen):
        return None
    return jax.tree.unflatten(tree, [Out(_out_spec(random, one, manual)) for one in seen])


@dataclass(frozen=True)
class _Seen:
    """What JAX says of a result of the body."""

    varying: frozenset[str]
    rank: int


def _out_spec(random: Random, seen: _Seen, manual: Axes) -> Spec:
    copies = [n for n in manual if n not in seen.varying and seen.rank and random.random() < 0.4]
    axes = [name for name in manual if name in seen.varying or name in copies]
    return _spec(random, seen.rank, tuple(random.sample(axes, len(axes))))
