"""The table of distances says what the search for one reshard says."""

from itertools import product

import numpy as np
import pytest

from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.reshard import distances as table_of_distances
from shardc.planning.reshard import preferred_plan
from shardc.planning.reshard.distances import atoms_for, distances


def shardings(axes, rank):
    """Every layout that whole axes make."""
    mesh = Mesh("m", axes)
    atoms = tuple(mesh.axis(name) for name, _ in axes)
    for layout in distances(atoms, rank).index:
        dims = tuple(Dim(tuple(atoms[a] for a in dim)) for dim in layout.dims)
        yield Sharding(mesh, dims, unreduced=tuple(atoms[a] for a in layout.partial))


@pytest.mark.parametrize(
    ("axes", "shape"),
    [((("x", 2), ("y", 2)), (8, 16)), ((("x", 3),), (9, 9, 9)), ((("x", 2), ("y", 4)), (16, 8))],
)
def test_even_tensors_cost_what_the_search_finds(axes, shape):
    """Also where parts of axes trade places: 4 and 2 are cut into three twos."""
    type, every = TensorType(shape, "f32"), list(shardings(axes, len(shape)))
    table = distances(atoms_for(every[0].mesh, (), (len(shape),)), len(shape))
    for source, target in product(every, every):
        cost = preferred_plan(type, source, target).cost
        assert (round(table.least(type, source, target)[0]), table.least(type, source, target)[1]) == cost[:2]


@pytest.mark.parametrize(
    ("sizes", "rank"),
    [
        ((2, 2), 1),
        ((2, 3), 2),
        ((2, 2, 2), 2),
        ((2, 2, 2), 3),
        ((2, 4), 3),
        ((2, 2, 3), 2),
        ((2, 2, 2, 2), 2),
        ((3,), 5),
        ((2, 2), 4),
    ],
)
def test_orders_do_not_matter(sizes, rank, monkeypatch):
    """Of dimensions, and of atoms of one size: found from every layout, the tables are the same."""
    mesh = Mesh("m", tuple((f"a{i}", size) for i, size in enumerate(sizes)))
    atoms = tuple(mesh.axis(name) for name, _ in mesh.axes)
    turned = distances.__wrapped__(atoms, rank)
    monkeypatch.setattr(table_of_distances, "TURNED", 1)
    monkeypatch.setattr(table_of_distances, "_swaps", lambda sizes: [lambda at: at])
    every = distances.__wrapped__(atoms, rank)
    for found, expected in zip(turned.tables, every.tables, strict=True):
        for matrix, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(matrix, other)


def test_uneven_tensors_cost_at_least_so_much():
    type, every = TensorType((6, 5), "f32"), list(shardings((("x", 4),), 2))
    table = distances(atoms_for(every[0].mesh, (), (2,)), 2)
    for source, target in product(every, every):
        assert table.least(type, source, target)[0] <= preferred_plan(type, source, target).cost.bytes
