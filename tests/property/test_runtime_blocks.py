"""Cutting an array into blocks and joining them again, for any mesh, spec and size."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.layout import Dim, Mesh, Sharding
from shardc.layout.slices import replicas, slices
from shardc.runtime.blocks import join
from shardc.semantics.blocks import cut
from tests.sampling import examples


@st.composite
def shardings(draw: st.DrawFn) -> Sharding:
    """A sharding of up to three dimensions, with axes in any order, some perhaps unreduced."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=3))
    axes = tuple((f"a{i}", size) for i, size in enumerate(sizes))
    order = tuple(draw(st.permutations(range(prod(sizes)))))
    mesh = Mesh("m", axes, order if axes else None)
    rank = draw(st.integers(0, 3))
    dims: list[list[str]] = [[] for _ in range(rank)]
    unreduced: list[str] = []
    for name in draw(st.permutations([name for name, _ in axes])):
        where = draw(st.integers(0, rank + 1))
        if where < rank:
            dims[where].append(name)
        elif where == rank:
            unreduced.append(name)
    kind = draw(st.sampled_from(["sum", "max", "min"]))
    of = lambda names: tuple(map(mesh.axis, names))  # noqa: E731
    return Sharding(mesh, tuple(Dim(of(names)) for names in dims), unreduced=of(unreduced), kind=kind)


shapes = st.lists(st.integers(0, 9), min_size=3, max_size=3)


@settings(max_examples=examples(200), deadline=None)
@given(shardings(), shapes)
def test_blocks_join_to_the_array_they_were_cut_from(sharding: Sharding, sizes: list[int]):
    shape = tuple(sizes[: sharding.rank])
    x = np.arange(1, prod(shape) + 1).reshape(shape)
    blocks = cut(x, sharding)
    assert len(blocks) == sharding.mesh.size
    assert {block.shape for block in blocks} == {sharding.local_shape(shape)}
    np.testing.assert_array_equal(join(blocks, sharding, shape, "x"), x)


@settings(max_examples=examples(200), deadline=None)
@given(shardings(), shapes)
def test_slices_cover_every_element_once_per_replica(sharding: Sharding, sizes: list[int]):
    shape = tuple(sizes[: sharding.rank])
    seen = np.zeros(shape, int)
    for start_stop in slices(sharding, shape):
        seen[tuple(slice(*bounds) for bounds in start_stop)] += 1
    copies = sharding.mesh.size // prod(dim.parts for dim in sharding.dims)
    assert (seen == copies).all()
    groups = replicas(sharding)
    parts = prod(dim.parts for dim in sharding.dims) * prod(axis.size for axis in sharding.unreduced)
    assert len(np.unique(groups)) == parts
    for group in np.unique(groups):
        assert len(np.unique(slices(sharding, shape)[groups == group], axis=0)) == 1
