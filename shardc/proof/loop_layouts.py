"""How the per-device program holds what a loop carries: found by trying, and part of what induction shows.

A layout that is guessed wrongly proves nothing: entry, body and exit must all agree in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, permutations

import numpy as np

from shardc.interpret.devices import Blocks
from shardc.layout import Axis, Dim, Mesh, Sharding, size_of
from shardc.proof import arithmetic, values
from shardc.proof.thinned import weights
from shardc.semantics.arrays import Array
from shardc.semantics.blocks import BlockError, assemble, cut, groups

_MOST = 512
"""Layouts that are tried for one value."""


def layout(mesh: Mesh, pairs: Sequence[tuple[Array, Blocks]]) -> Sharding | None:
    """The first layout in which all the arrays are held as the blocks beside them."""
    shape, block = pairs[0][0].shape, pairs[0][1][0].shape
    if len(shape) != len(block):
        return None
    tried = islice(_layouts(mesh, shape, block), _MOST)
    return next((found for found in tried if all(holds(found, *pair) for pair in pairs)), None)


def holds(sharding: Sharding, whole: Array, blocks: Blocks) -> bool:
    """Whether the blocks are the array in this layout; what pads them is to be zero."""
    try:
        if not values.same(assemble(_counted(blocks, sharding), sharding, whole.shape), whole).all():
            return False
    except BlockError:
        return False
    if _is_even(sharding, whole.shape):
        return True
    return all(bool(values.same(a, b).all()) for a, b in zip(cut(whole, sharding), blocks, strict=True))


def dealt(rng: np.random.Generator, sharding: Sharding, whole: Array) -> Blocks:
    """The array in a layout. Partial sums are random, and different in every group."""
    blocks = cut(whole, Sharding(sharding.mesh, sharding.dims))
    for group in groups(sharding.mesh, sharding.unreduced) if sharding.unreduced else ():
        for position in group[1:]:
            blocks[position] = values.draw(
                rng, blocks[position].shape, rng.standard_normal(blocks[position].shape)
            )
        parts = _counted(blocks, sharding)
        for position in group[1:]:
            blocks[group[0]] = arithmetic.subtract(blocks[group[0]], parts[position])
    return blocks


def _counted(blocks: Blocks, sharding: Sharding) -> Blocks:
    """Terms of sums, as often as there are devices that hold such a one."""
    if not sharding.unreduced:
        return blocks
    found = weights(sharding.mesh, sharding.unreduced)
    return [
        block if count == 1 else arithmetic.multiply(block, values.whole(np.array(float(count))))
        for block, count in zip(blocks, found, strict=True)
    ]


def _is_even(sharding: Sharding, shape: Sequence[int]) -> bool:
    return all(size % size_of(dim.axes) == 0 for size, dim in zip(shape, sharding.dims, strict=True))


def _layouts(mesh: Mesh, shape: Sequence[int], block: Sequence[int]) -> Iterator[Sharding]:
    """Layouts that cut the shape into such blocks, those without partial sums first."""
    axes = tuple(mesh.axis(name) for name in mesh.sizes)
    cuts = list(islice(_cuts(axes, shape, block), _MOST))
    for count in range(len(axes) + 1):
        for dims in cuts:
            used = {axis.name for dim in dims for axis in dim}
            for partial in combinations([axis for axis in axes if axis.name not in used], count):
                found = Sharding(mesh, tuple(map(Dim, dims)), unreduced=partial, kind="sum")
                if not partial or _is_even(found, shape):
                    yield found


def _cuts(
    axes: tuple[Axis, ...], shape: Sequence[int], block: Sequence[int]
) -> Iterator[tuple[tuple[Axis, ...], ...]]:
    """The ways to give dimensions axes, major to minor, so that blocks have their sizes."""
    if not shape:
        yield ()
        return
    for count in range(len(axes) + 1):
        for chosen in permutations(axes, count):
            if -(-shape[0] // size_of(chosen)) == block[0] and (count == 0 or shape[0] != block[0]):
                left = tuple(axis for axis in axes if axis not in chosen)
                yield from ((chosen, *rest) for rest in _cuts(left, shape[1:], block[1:]))
