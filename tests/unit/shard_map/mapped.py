"""A body under jax.shard_map with its specs and arguments, and the same without shard_map, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec

from tests.unit.shard_map.bodies import Axes, Body, Kind

Spec = tuple[Axes, ...]
"""The axes of each dimension."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """A body with its specs, and arguments for it."""

    random: Random
    kind: Kind
    body: Body
    sizes: dict[str, int]
    manual: Axes
    in_specs: tuple[Spec, ...]
    out_specs: Any
    arguments: tuple[np.ndarray, ...]

    def __call__(self, *arguments: Any, check_vma: bool = True) -> Any:
        return self.of(self.body, self.in_specs, check_vma)(*arguments)

    def of(self, body: Body, in_specs: Sequence[Spec], check_vma: bool = True) -> Body:
        """Another body with the same results."""
        specs = jax.tree.map(partition, self.out_specs, is_leaf=lambda s: isinstance(s, Out))
        return jax.shard_map(
            body,
            mesh=mesh_of(self.sizes),
            in_specs=tuple(PartitionSpec(*spec) for spec in in_specs),
            out_specs=specs,
            axis_names=set(self.manual),
            check_vma=check_vma,
        )

    def sequential(self, *arguments: Any) -> Any:
        """One block after the other, for a body that does not communicate."""
        blocks = [
            _blocks(jnp.asarray(x), s, self.sizes) for x, s in zip(arguments, self.in_specs, strict=True)
        ]
        results = {at: self.body(*(block[at] for block in blocks)) for at in _positions(self.sizes)}
        leaves = {at: jax.tree.leaves(result) for at, result in results.items()}
        specs, tree = jax.tree.flatten(self.out_specs, is_leaf=lambda s: isinstance(s, Out))
        whole = [
            _joined({at: leaves[at][n] for at in leaves}, s.spec, self.sizes) for n, s in enumerate(specs)
        ]
        return jax.tree.unflatten(tree, whole)


@dataclass(frozen=True)
class Out:
    """The spec of one result."""

    spec: Spec


def partition(out: Out) -> PartitionSpec:
    return PartitionSpec(*(axes or None for axes in out.spec))


def mesh_of(sizes: dict[str, int]) -> Any:
    count = int(np.prod(list(sizes.values())))
    auto = (AxisType.Auto,) * len(sizes)
    return jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=auto, devices=jax.devices()[:count])


def _positions(sizes: dict[str, int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, sizes.values())))


def _corner(at: tuple[int, ...], spec: Spec, sizes: dict[str, int]) -> list[int]:
    """Which block of each dimension a device has: its positions along the axes, the last fastest."""
    found: list[int] = []
    for axes in spec:
        number = 0
        for name in axes:
            number = number * sizes[name] + at[list(sizes).index(name)]
        found.append(number)
    return found


def _blocks(x: Any, spec: Spec, sizes: dict[str, int]) -> dict[tuple[int, ...], Any]:
    counts = [int(np.prod([sizes[name] for name in axes])) for axes in spec]
    shape = [size // count for size, count in zip(x.shape, counts, strict=True)]
    return {
        at: x[tuple(slice(c * n, c * n + n) for c, n in zip(_corner(at, spec, sizes), shape, strict=True))]
        for at in _positions(sizes)
    }


def _joined(blocks: dict[tuple[int, ...], Any], spec: Spec, sizes: dict[str, int]) -> Any:
    shape = next(iter(blocks.values())).shape
    counts = [int(np.prod([sizes[name] for name in axes])) for axes in spec]
    whole = jnp.zeros([n * c for n, c in zip(shape, counts, strict=True)], next(iter(blocks.values())).dtype)
    for at, block in blocks.items():
        corner = _corner(at, spec, sizes)
        whole = whole.at[tuple(slice(c * n, c * n + n) for c, n in zip(corner, shape, strict=True))].set(
            block
        )
    return whole
