"""The table of distances says what the search for one reshard says."""

from itertools import product

import pytest

from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
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


def test_uneven_tensors_cost_at_least_so_much():
    type, every = TensorType((6, 5), "f32"), list(shardings((("x", 4),), 2))
    table = distances(atoms_for(every[0].mesh, (), (2,)), 2)
    for source, target in product(every, every):
        assert table.least(type, source, target)[0] <= preferred_plan(type, source, target).cost.bytes
