"""The table of distances says what the search for one reshard says."""

from itertools import product

import numpy as np
import pytest

from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.reshard import orders, preferred_plan
from shardc.planning.reshard.distances import atoms_for, distances


def shardings(axes, rank):
    """Every layout that whole axes make."""
    mesh = Mesh("m", axes)
    atoms = tuple(mesh.axis(name) for name, _ in axes)
    for layout in distances(atoms, rank).index:
        dims = tuple(Dim(tuple(atoms[a] for a in dim)) for dim in layout.dims)
        yield Sharding(mesh, dims, unreduced=tuple(atoms[a] for a in layout.partial))


def least(table, type, source, target):
    """Bytes and collectives."""
    bytes, steps = table.table(type, [source], [target])
    return bytes.item(), steps.item()


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
        bytes, steps = least(table, type, source, target)
        assert (round(bytes), steps) == cost[:2]


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
    """Of dimensions, and of atoms of one size: found from every layout, paths are as long."""
    mesh = Mesh("m", tuple((f"a{i}", size) for i, size in enumerate(sizes)))
    atoms = tuple(mesh.axis(name) for name, _ in mesh.axes)
    turned = distances.__wrapped__(atoms, rank)
    monkeypatch.setattr(orders, "TURNED", 1)
    monkeypatch.setattr(orders, "_swaps", lambda sizes: [[*range(len(sizes))]])
    every = distances.__wrapped__(atoms, rank)
    assert len({*turned.ways.paths.first}) < len({*every.ways.paths.first}) == len(every.index)
    numbers = np.arange(len(every.index))
    one, other = (each.ways.paths.between(numbers, numbers) for each in (turned, every))
    np.testing.assert_array_equal(one, other)


def test_paths_are_looked_for_from_what_is_asked():
    """Five pieces of axes have 3,552 layouts of a matrix."""
    sizes = (("a", 4), ("b", 8), ("c", 4), ("d", 2), ("e", 2))
    mesh = Mesh("m", sizes)
    a, b, *_ = atoms = tuple(mesh.axis(name) for name, _ in sizes)
    table, type = distances(atoms, 2), TensorType((512, 512), "f32")
    split, turned = Sharding(mesh, (Dim((a,)), Dim(()))), Sharding(mesh, (Dim(()), Dim((a,))))
    cut = Sharding(mesh, (Dim((a, b)), Dim(())))
    assert least(table, type, split, turned) == (512 * 512 * 4 // 4 * 3 // 4, 1)
    assert least(table, type, cut, split) == (512 * 512 * 4 // 32 * 7, 1)
    assert len(table.ways.paths.rows) == 2


def test_uneven_tensors_cost_at_least_so_much():
    type, every = TensorType((6, 5), "f32"), list(shardings((("x", 4),), 2))
    table = distances(atoms_for(every[0].mesh, (), (2,)), 2)
    for source, target in product(every, every):
        assert least(table, type, source, target)[0] <= preferred_plan(type, source, target).cost.bytes
