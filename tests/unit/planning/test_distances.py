"""The table of distances says what the search for one reshard says."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.analysis.phases import PLAIN
from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.machines import load
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.costs.rates import Rates
from shardc.planning.reshard import orders, planner, preferred_plan
from shardc.planning.reshard.distances import all_ways, distances
from shardc.planning.reshard.runs import alone, atoms_for
from tests.sampling import examples


def shardings(axes, rank):
    """Every layout that whole axes make."""
    mesh = Mesh("m", axes)
    atoms = alone(mesh.several)
    for layout in distances(atoms, rank).ways.index:
        dims = tuple(Dim(tuple(axis for a in dim for axis in atoms[a])) for dim in layout.dims)
        yield Sharding(mesh, dims, unreduced=tuple(axis for a in layout.partial for axis in atoms[a]))


def least(table, type, source, target):
    """Bytes and collectives."""
    moved, steps = table.each([source], [target], *2 * (np.zeros(1, np.int64),))
    return moved.item() * type.size * type.numpy.itemsize, steps.item()


@pytest.mark.parametrize(
    ("axes", "shape"),
    [((("x", 2), ("y", 2)), (8, 16)), ((("x", 3),), (9, 9, 9)), ((("x", 2), ("y", 4)), (16, 8))],
)
def test_even_tensors_cost_what_the_search_finds(axes, shape):
    """Also where parts of axes trade places: 4 and 2 are cut into three twos."""
    type, every = TensorType(shape, "f32"), list(shardings(axes, len(shape)))
    table = distances(atoms_for(alone(every[0].mesh.several), (len(shape),)), len(shape))
    for source, target in product(every, every):
        cost = preferred_plan(type, source, target).cost
        bytes, steps = least(table, type, source, target)
        assert (round(bytes), steps) == cost[:2]


@pytest.mark.parametrize("sizes", [(2, 2, 3), (4, 2, 8)])
def test_estimates_of_many_layouts_are_those_of_each(sizes):
    axes = tuple((f"a{number}", size) for number, size in enumerate(sizes))
    every = list(shardings(axes, 2))
    table = distances(alone(every[0].mesh.several), 2)
    rows, columns = (each.ravel() for each in np.indices((len(every), len(every))))
    moved, steps = (each.reshape(len(every), -1) for each in table.estimates(every, every, rows, columns))
    for i, source in enumerate(every):
        for j, target in enumerate(every):
            _, finer, count = table.spared(source, target)
            assert (moved[i, j], steps[i, j]) == (finer, count)


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2, 2), (4, 2, 2, 8, 3)])
def test_pairs_on_five_axes_are_those_of_the_table(sizes):
    """Over the atoms that either end names: some charted, some estimated."""
    mesh = Mesh("m", tuple((f"a{number}", size) for number, size in enumerate(sizes)))
    a, b, c, d, e = map(mesh.axis, mesh.sizes)
    split = [((a, b), (c,), ()), ((), (), ()), ((b,), (d, a), (c,)), ((e,), (), (d,)), ((), (), (a, b))]
    every = [Sharding(mesh, tuple(map(Dim, dims)), unreduced=partial) for *dims, partial in split]
    type, table = TensorType((4096, 8192), "f32"), distances(alone((a, b, c, d, e)), 2)
    pairs = [(source, target) for source in every for target in reversed(every)][1:]
    rows, columns = np.array([[every.index(end) for end in pair] for pair in pairs]).T
    moved, steps = table.each(every, every, rows, columns)
    for at, pair in enumerate(pairs):
        assert (moved[at] * type.size * 4, steps[at]) == least(table, type, *pair)


@pytest.mark.parametrize("shape", [(8, 16), (6, 10)])
def test_no_way_takes_less_than_is_seen_without_a_search(shape):
    type, every = TensorType(shape, "f32"), list(shardings((("x", 2), ("y", 4)), 2))
    for source, target in product(every, every):
        cost = preferred_plan(type, source, target).cost
        bytes, collectives = planner.least(type, source, target)
        assert bytes <= cost.bytes and collectives <= cost.steps


def test_five_axes_of_one_size_are_charted():
    """Others differ too much, or have too many layouts."""

    def small(sizes, rank):
        axes = tuple((f"a{number}", size) for number, size in enumerate(sizes))
        return distances(alone(Mesh("m", axes).several), rank).small

    assert small((2,) * 5, 2) and small((4, 2, 2, 2, 2), 2)
    assert not small((2,) * 5, 3)
    assert not small((2, 3, 4, 5, 6), 2)
    mesh = Mesh("m", tuple((f"a{number}", 2) for number in range(5)))
    a, b, c, d, e = mesh.several
    table, type = distances(alone(mesh.several), 2), TensorType((64, 64), "f32")
    source = Sharding(mesh, (Dim((a, b, c)), Dim((d, e))))
    for dims in [((d, e), (a, b, c)), ((a, d), (b, e)), ((), (e, d))]:
        target = Sharding(mesh, tuple(map(Dim, dims)))
        bytes, steps = least(table, type, source, target)
        assert (round(bytes), steps) == preferred_plan(type, source, target).cost[:2]


def classes(sizes, rank):
    """How many layouts there are, if dimensions are in no order, and atoms of one size are one another's."""
    found = set()
    for layout in all_ways(sizes, rank).index:
        same = [
            (
                tuple(sorted(tuple(swap[a] for a in dim) for dim in layout.dims)),
                *sorted(swap[a] for a in layout.partial),
            )
            for swap in permutations(range(len(sizes)))
            if all(sizes[a] == size for a, size in zip(swap, sizes, strict=True))
        ]
        found.add(min(same))
    return len(found)


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
        ((2, 2), 7),
        ((2, 4, 2), 5),
    ],
)
def test_orders_do_not_matter(sizes, rank, monkeypatch):
    """Of dimensions, and of atoms of one size: found from every layout, paths are as long."""
    turned = all_ways.__wrapped__(sizes, rank)
    monkeypatch.setattr(
        orders, "_named", lambda places, rank, kept=0: np.tile(np.arange(rank), (len(places), 1))
    )
    monkeypatch.setattr(orders, "_swaps", lambda sizes: [[*range(len(sizes))]])
    every = all_ways.__wrapped__(sizes, rank)
    firsts = ({*each.paths.orders.first} for each in (turned, every))
    assert [*map(len, firsts)] == [classes(sizes, rank), len(every.index)]
    numbers = np.arange(len(every.index))
    one, other = (each.paths.between(numbers, numbers) for each in (turned, every))
    np.testing.assert_array_equal(one, other)


def test_many_dimensions():
    """Of twelve, in which four atoms have too many layouts to be listed: what a search finds."""
    mesh = Mesh("m", (("a", 2), ("b", 2), ("c", 2), ("d", 2)))
    a, b, c, d = (mesh.axis(name) for name, _ in mesh.axes)
    type, table = TensorType((2,) * 12, "f32"), distances(alone((a, b, c, d)), 12)
    assert not table.charted
    for source, target in [
        ({0: a, 1: b}, {5: a, 6: b}),
        ({0: a, 3: c}, {0: a}),
        ({2: d}, {9: d}),
        ({}, {4: b}),
    ]:
        at, to = (
            Sharding(mesh, tuple(Dim((w[i],) if i in w else ()) for i in range(12))) for w in (source, target)
        )
        cost = preferred_plan(type, at, to).cost
        bytes, steps = least(table, type, at, to)
        assert (round(bytes), steps) == cost[:2]


@given(st.data())
@settings(max_examples=examples(60))
def test_many_axes_cost_what_the_search_finds(data):
    """Of five axes those count that a layout names, as in the search; of all five, what is left at least."""
    mesh = Mesh("m", tuple((f"a{i}", 2) for i in range(5)))
    atoms = tuple(mesh.axis(name) for name, _ in mesh.axes)
    type = TensorType((64, 64), "f32")

    def drawn(partial):
        where = data.draw(st.tuples(*(st.sampled_from((0, 1, *partial, None, None)) for _ in atoms)))
        order = data.draw(st.permutations(atoms))
        dims = tuple(Dim(tuple(a for a in order if where[atoms.index(a)] == dim)) for dim in (0, 1))
        return Sharding(mesh, dims, unreduced=tuple(a for a, at in zip(atoms, where, strict=True) if at == 2))

    source, target = drawn((2,)), drawn(())
    bytes, steps = least(distances(alone(atoms), 2), type, source, target)
    cost = preferred_plan(type, source, target).cost
    if len({axis.name for axis in (*source.axes(), *source.unreduced, *target.axes())}) < 5:
        assert (round(bytes), steps) == cost[:2]
    assert bytes <= cost.bytes and (bytes < cost.bytes or steps <= cost.steps)


def test_collectives_are_counted_on_thousands_of_devices():
    """As many bytes as the model tensor has would leave no digit for them."""
    sizes = (("pod", 16), ("data", 128), ("model", 8))
    mesh = Mesh("m", sizes)
    pod, data, model = (mesh.axis(name) for name, _ in sizes)
    type, whole = TensorType((4096, 64, 128), "f32"), Dim(())
    table = distances(atoms_for(alone(mesh.several), (3,)), 3)
    split, gathered = Sharding(mesh, (Dim((pod, data)), Dim((model,)), whole)), Sharding(mesh, (whole,) * 3)
    assert least(table, type, split, gathered)[1] == 2
    assert least(table, type, split, Sharding(mesh, (Dim((pod, data)), whole, whole))) == (7 * 8192, 1)


def test_paths_are_looked_for_from_what_is_asked():
    """Four pieces of axes have 536 layouts of a matrix."""
    sizes = (("a", 4), ("b", 8), ("c", 4), ("d", 2))
    mesh = Mesh("m", sizes)
    a, b, *_ = atoms = tuple(mesh.axis(name) for name, _ in sizes)
    table, type = distances(alone(atoms), 2), TensorType((512, 512), "f32")
    split, turned = Sharding(mesh, (Dim((a,)), Dim(()))), Sharding(mesh, (Dim(()), Dim((a,))))
    cut = Sharding(mesh, (Dim((a, b)), Dim(())))
    assert least(table, type, split, turned) == (512 * 512 * 4 // 4 * 3 // 4, 1)
    assert least(table, type, cut, split) == (512 * 512 * 4 // 32 * 7, 1)
    assert table.ways.paths._count == 2


def test_uneven_tensors_cost_at_least_so_much():
    type, every = TensorType((6, 5), "f32"), list(shardings((("x", 4),), 2))
    table = distances(atoms_for(alone(every[0].mesh.several), (2,)), 2)
    for source, target in product(every, every):
        assert least(table, type, source, target)[0] <= preferred_plan(type, source, target).cost.bytes


@pytest.mark.parametrize("machine", ["bytes", "balanced", "h100-infiniband", "tpu-v5e"])
@pytest.mark.parametrize("sizes", [(2, 2), (2, 4), (2, 3), (8,), (2, 2, 2)])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_bounds_of_uneven_tensors(sizes, machine, data):
    """Prices before anything is searched are lower bounds, also where fewer collectives send the least."""
    axes = tuple((f"a{number}", size) for number, size in enumerate(sizes))
    shape = tuple(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=2), label="shape"))
    every = list(shardings(axes, len(shape)))
    source, target = (data.draw(st.sampled_from(every), label=end) for end in ("source", "target"))
    mesh, type = every[0].mesh, TensorType(shape, "f32")
    rates = Rates(load(machine), mesh)
    ticks, count = Prices(atoms_for(alone(mesh.several), (len(shape),)), rates)(type, source, target)
    exact, collectives, _ = rates.copies(type, source, (target,), PLAIN)
    assert ticks <= exact * (1 + 1e-9)
    assert ticks < exact or count <= collectives
