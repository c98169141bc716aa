"""What changes of layout take at least on machines whose links differ: no more than they take."""

import random
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace

from shardc.analysis.manual import NO_AXES
from shardc.analysis.phases import BEFORE, BETWEEN, PLAIN, Context
from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.machines import load
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.costs.rates import Rates
from shardc.planning.reshard.distances import distances
from shardc.planning.reshard.runs import alone, atoms_for

MACHINES = ("h100-infiniband", "tpu-v5e", "tpu-v4p", "laptop")


def shardings(mesh, atoms, rank):
    for layout in distances(atoms, rank).ways.index:
        dims = tuple(Dim(tuple(axis for a in dim for axis in atoms[a])) for dim in layout.dims)
        yield Sharding(mesh, dims, unreduced=tuple(axis for a in layout.partial for axis in atoms[a]))


def pairs(machine, axes, shape, dtype="f32", count=50):
    """The ticks that are known at first, and those of the plan, for some pairs of layouts."""
    mesh = Mesh("m", axes)
    atoms = atoms_for(alone(mesh.several), (len(shape),))
    rates, type = Rates(load(machine), mesh), TensorType(shape, dtype)
    prices, every = Prices(atoms, rates), [*shardings(mesh, atoms, len(shape))]
    draw = random.Random(str((machine, axes, shape)))
    for _ in range(count):
        source, target = draw.choice(every), draw.choice(every)
        yield prices(type, source, target)[0], rates.copies(type, source, (target,), PLAIN)[0]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("axes", "shape"),
    [
        ((("x", 2), ("y", 4)), (64, 128)),
        ((("x", 4), ("y", 2)), (6, 16, 64)),
        ((("x", 2), ("y", 8)), (4096, 64)),
        ((("x", 3), ("y", 2)), (5, 12)),
    ],
)
def test_no_more_than_the_plan_takes(machine, axes, shape):
    for least, exact in pairs(machine, axes, shape):
        assert least <= exact * (1 + 1e-9) + 1


def of_whole_axes(machine, axes, shape, kinds=("sum",)):
    """All pairs of layouts that cut no axis, with the ticks that are known at first and the plan's."""
    mesh, type = Mesh("m", axes), TensorType(shape, "f32")
    rates = Rates(load(machine), mesh)
    prices = Prices(atoms_for(alone(mesh.several), (len(shape),)), rates)
    every = [
        replace(layout, kind=kind) if layout.unreduced else layout
        for layout in shardings(mesh, alone(mesh.several), len(shape))
        for kind in (kinds if layout.unreduced else kinds[:1])
    ]
    for source, target in product(every, every):
        exact = rates.copies(type, source, (target,), PLAIN)[0]
        yield source, target, prices(type, source, target)[0], exact


@pytest.mark.parametrize("machine", ["h100-infiniband", "tpu-v5e"])
def test_the_latency_of_whole_axes_is_known(machine):
    """An axis of four could be gathered in two halves, of a step each, but is gathered at once, in three."""
    found = [
        (least, exact)
        for _, target, least, exact in of_whole_axes(machine, (("x", 2), ("y", 4)), (64, 128))
        if exact and not target.unreduced
    ]
    assert all(least <= exact * (1 + 1e-9) + 1 for least, exact in found)
    assert np.mean([least > exact * (1 - 1e-6) for least, exact in found]) > 0.7


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", [(4, 8), (6, 12), (5, 16)])
def test_uneven_blocks_and_other_sums_may_go_another_way(machine, shape):
    for source, target, least, exact in of_whole_axes(machine, (("x", 2), ("y", 4)), shape, ("sum", "max")):
        assert least <= exact * (1 + 1e-9) + 1, (source, target)


@pytest.mark.parametrize("machine", MACHINES)
def test_large_axes_stay_whole_and_are_priced_as_such(machine):
    """Where no part of an axis sends less, what is known is no more; the latency of many devices is in it."""
    mesh, type = Mesh("m", (("x", 128), ("y", 16), ("z", 8))), TensorType((1 << 14, 1 << 15), "f32")
    atoms = atoms_for(alone(mesh.several), (2,))
    rates, draw, found = Rates(load(machine), mesh), random.Random(machine), 0
    prices, every = Prices(atoms, rates), [*shardings(mesh, atoms, 2)]
    assert not prices.fine
    while found < 30:
        source, target = draw.choice(every), draw.choice(every)
        if not prices.may_spare(0, type, source, target):
            found += 1
            least, exact = prices(type, source, target)[0], rates.copies(type, source, (target,), PLAIN)[0]
            assert least <= exact * (1 + 1e-9) + 1
    x, rest = (mesh.axis("x"),), (mesh.axis("y"), mesh.axis("z"))
    split, whole = (Sharding(mesh, (Dim(axes), Dim(rest))) for axes in (x, ()))
    exact = rates.copies(type, split, (whole,), PLAIN)[0]
    assert prices(type, split, whole)[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("machine", MACHINES[:1])
def test_small_tensors_wait_for_each_step(machine):
    """In an all-reduce over eight devices fourteen steps take more than the bytes: mostly that is all."""
    found = [*pairs(machine, (("x", 2), ("y", 4)), (64, 128))]
    shares = [least / exact for least, exact in found if exact]
    assert np.median(shares) > 0.99


@pytest.mark.parametrize("machine", MACHINES)
def test_an_axis_of_one_device_changes_nothing(machine):
    mesh, type = Mesh("m", (("one", 1), ("x", 2), ("y", 4))), TensorType((16, 64), "f32")
    one, x, y = map(mesh.axis, mesh.sizes)
    prices = Prices(atoms_for(alone(mesh.several), (2,)), Rates(load(machine), mesh))
    source, target = (Sharding(mesh, (Dim((x,)), Dim())), Sharding(mesh, (Dim(), Dim((x, y)))))
    named = Sharding(mesh, (Dim((one, x)), Dim()))
    assert prices(type, named, target) == prices(type, source, target)
    assert prices(type, named, source) == (0, 0)


@pytest.mark.parametrize("axes", [(("x", 4), ("y", 8)), (("x", 2), ("y", 3), ("z", 2), ("u", 5), ("v", 2))])
def test_prices_are_the_same_one_by_one_and_together(axes):
    mesh, type = Mesh("m", axes), TensorType((960, 960), "f32")
    atoms = alone(mesh.several)
    every = [*shardings(mesh, atoms[:2], 2)]
    draw = random.Random(1)
    some = [(draw.choice(every), draw.choice(every)) for _ in range(40)]
    single, together = (Prices(atoms, Rates(load("h100-infiniband"), mesh)) for _ in range(2))
    together.learn(type, some[:30], PLAIN)
    assert len(together.known) == len(set(some[:30]))
    together.learn(type, some, PLAIN)
    assert [together(type, *pair) for pair in some] == [single(type, *pair) for pair in some]


def test_prices_of_many_tensors_are_looked_up_together():
    """Whatever their sizes, ranks and phases are, each is what it is alone."""
    mesh = Mesh("m", (("x", 2), ("y", 4)))
    atoms, draw = atoms_for(alone(mesh.several), (1, 2)), random.Random(2)
    rates = [Rates(load("h100-infiniband"), mesh) for _ in range(2)]
    single, together = (Prices(atoms, each) for each in rates)
    asked = []
    for shape in ((8, 16), (6, 12), (64,), (5,), (1 << 14, 1 << 15)):
        every = [*shardings(mesh, atoms, len(shape))]
        for phase in (BETWEEN, BEFORE):
            places = tuple(draw.sample(every, min(9, len(every))))
            asked.append((TensorType(shape, "f32"), Context(NO_AXES, phase), places))
    together.look_up(asked, [(table, [*product(table[2], table[2])]) for table in asked])
    for type, context, places in asked:
        for mine, alone_ in zip(
            together.table(type, places, context), single.table(type, places, context), strict=True
        ):
            np.testing.assert_array_equal(mine, alone_)
        for row, source in enumerate(places):
            for column, target in enumerate(places):
                assert (
                    together(type, source, target, context)[0]
                    == single.table(type, places, context)[0][row, column]
                )


def test_no_copy_spares_more_than_it_takes():
    mesh, type = Mesh("m", (("x", 128), ("y", 16))), TensorType((1 << 14, 1 << 15), "f32")
    atoms = atoms_for(alone(mesh.several), (2,))
    prices, every = Prices(atoms, Rates(load("h100-infiniband"), mesh)), [*shardings(mesh, atoms, 2)]
    spares = [pair for pair in product(every, every) if prices.may_spare(0, type, *pair)]
    assert 0 < len(spares) < len(every) ** 2
    assert not any(prices.may_spare(prices(type, *pair)[0], type, *pair) for pair in spares)
    source, target = spares[0]
    prices.settle(type, source, target)
    assert not prices.may_spare(0, type, source, target)
