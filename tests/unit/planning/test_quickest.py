"""Ways of changes of layout that take the least time on machines with latency, or links that differ."""

import random

import pytest

from shardc.analysis.phases import PLAIN
from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.machines import Combined, load
from shardc.planning.program.costs.copying import WORTH
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.costs.rates import Rates
from shardc.planning.reshard.copies import copies, direct
from shardc.planning.reshard.distances import distances
from shardc.planning.reshard.runs import alone

MACHINES = ("h100-infiniband", "tpu-v5e", "tpu-v4p", "laptop")
POD = Mesh("pod", (("data", 16), ("fsdp", 128), ("model", 8)))
SMALL = Mesh("small", (("x", 2), ("y", 4), ("z", 2)))


def layouts(mesh: Mesh, rank: int) -> list[Sharding]:
    """All layouts of whole axes."""
    axes = mesh.several
    return [
        Sharding(
            mesh,
            tuple(Dim(tuple(axes[a] for a in dim)) for dim in layout.dims),
            unreduced=tuple(axes[a] for a in layout.partial),
        )
        for layout in distances(alone(axes), rank).ways.index
    ]


def ticks(rates: Rates, type: TensorType, made) -> int:
    """Of copies as they are."""
    total = 0
    for source, _, plan in made:
        total += 1000 * plan.cost.steps
        for step in plan.steps:
            total += rates.step(type, source, step, PLAIN.phase)
            source = step.result
    return total


def test_no_permute_goes_all_over_a_torus():
    """The example of quickest.py."""
    data, fsdp, model = POD.several
    type, rates = TensorType((8192, 16384), "f32"), Rates(load("tpu-v5e"), POD)
    source = Sharding(POD, (Dim((data,)), Dim((fsdp,))), unreduced=(model,))
    target = Sharding(POD, (Dim((data, fsdp)), Dim(())))
    fewest, quickest = direct(type, source, target), rates.made(type, source, (target,), PLAIN)
    assert "collective_permute" in [step.kind for step in fewest[0][2].steps]
    assert [plan.steps[0].kind for _, _, plan in quickest] == ["all_reduce", "all_to_all"]
    assert all(plan.at_once for _, _, plan in quickest)
    assert ticks(rates, type, fewest) == pytest.approx(0.59e12, rel=1e-2)
    assert ticks(rates, type, quickest) == pytest.approx(0.107e12, rel=1e-2)
    assert rates.copies(type, source, (target,), PLAIN)[0] == ticks(rates, type, quickest)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", [(64, 64), (1024, 2048), (12, 20)])
def test_copies_lead_from_each_to_the_next_and_take_no_longer(machine: str, shape: tuple[int, int]):
    rates, type, draw = Rates(load(machine), SMALL), TensorType(shape, "f32"), random.Random(machine)
    every, several = layouts(SMALL, 2), 0
    for _ in range(150):
        source, target = draw.sample(every, 2)
        made = rates.made(type, source, (target,), PLAIN)
        assert (made[0][0], made[-1][1]) == (source, target)
        assert [copy[1] for copy in made[:-1]] == [copy[0] for copy in made[1:]]
        least = ticks(rates, type, direct(type, source, target))
        several += len(made) > 1
        assert ticks(rates, type, made) <= (least if len(made) == 1 else WORTH * least)
        for before, after, plan in made if len(made) > 1 else ():
            assert plan.at_once and len(plan.steps) == 1 and plan.steps[0].result == after
            plan.steps[0].attributes(before)
    assert several > 10 or shape != (64, 64)


@pytest.mark.parametrize("machine", MACHINES)
def test_of_two_copies_the_tree_takes_no_longer_than_that_of_the_fewest_bytes(machine: str):
    rates, type, draw = Rates(load(machine), SMALL), TensorType((256, 256), "f32"), random.Random(machine)
    every = [layout for layout in layouts(SMALL, 2) if not layout.unreduced]
    for _ in range(40):
        given, *needs = draw.sample(every, 3)
        found = ticks(rates, type, rates.made(type, given, (*needs,), PLAIN))
        assert found <= ticks(rates, type, copies(type, given, (*needs,)))


@pytest.mark.parametrize("machine", ["bytes", "balanced"])
def test_without_latency_there_is_one_way(machine: str):
    rates, type, draw = Rates(load(machine), SMALL), TensorType((64, 64), "f32"), random.Random(1)
    every = layouts(SMALL, 2)
    for _ in range(50):
        source, target = draw.sample(every, 2)
        assert rates.made(type, source, (target,), PLAIN) == direct(type, source, target)


@pytest.mark.parametrize("machine", ["h100-infiniband", "tpu-v5e", "tpu-v4p"])
@pytest.mark.parametrize(
    ("mesh", "shape", "dtype"),
    [
        (SMALL, (64, 64), "f32"),
        (SMALL, (4096, 8, 1024), "f32"),
        (SMALL, (1024, 2048), "bf16"),
        (SMALL, (12, 20), "f32"),
        (POD, (8192, 16384), "f32"),
        (Mesh("four", (("x", 2), ("y", 2), ("z", 2), ("w", 2))), (16, 32, 64), "f32"),
    ],
    ids=str,
)
def test_over_whole_axes_prices_are_exact_from_the_start(machine, mesh, shape, dtype):
    """Of uneven blocks they are known to be no more than they are."""
    rates = Rates(load(machine), mesh).over_whole_axes()
    type, every = TensorType(shape, dtype), layouts(mesh, len(shape))
    draw = random.Random(f"{machine} {shape} {dtype}")
    pairs = [(draw.choice(every), draw.choice(every)) for _ in range(200)]
    prices = Prices(alone(mesh.several), rates)
    prices.learn(type, pairs, PLAIN)
    for source, target in pairs:
        known, exact = prices(type, source, target)[0], rates.copies(type, source, (target,), PLAIN)[0]
        assert known <= exact * (1 + 1e-6) + 1
        if all(size % mesh.size == 0 for size in shape):
            assert known == pytest.approx(exact, rel=1e-6)
        if rates.made(type, source, (target,), PLAIN)[0][2].at_once:
            assert exact == ticks(rates, type, rates.made(type, source, (target,), PLAIN))


def test_other_shares_leave_what_is_known_of_work():
    """Rates of plans that count on other things to be combined have the same machine, work and stages."""
    rates = Rates(load("h100-infiniband"), SMALL)
    other = rates.sharing((Combined("all-reduce", ("x",), 4, 1),))
    type = TensorType((64, 64), "f32")
    source = Sharding(SMALL, (Dim(), Dim()), unreduced=(SMALL.axis("x"),))
    target = Sharding(SMALL, (Dim(), Dim()))
    plain, less = (each.copies(type, source, (target,), PLAIN) for each in (rates, other))
    assert less < plain == rates.copies(type, source, (target,), PLAIN)
    assert other.exchanges.stages is rates.exchanges.stages
    assert other.sharing(()).copies(type, source, (target,), PLAIN) == plain


FIVE = Mesh("five", (("pod", 4), ("data", 16), ("fsdp", 8), ("seq", 4), ("model", 8)))


def drawn(mesh: Mesh, rank: int, draw: random.Random) -> Sharding:
    """A layout of whole axes."""
    axes = draw.sample(mesh.several, len(mesh.several))
    places = [draw.randrange(-2, rank) for _ in axes]
    dims = [[axis for axis, at in zip(axes, places, strict=True) if at == dim] for dim in range(rank)]
    partial = [axis for axis in mesh.several if places[axes.index(axis)] == -1]
    return Sharding(mesh, tuple(Dim(tuple(each)) for each in dims), unreduced=tuple(partial))


@pytest.mark.parametrize("machine", ["h100-infiniband", "tpu-v5e", "tpu-v4p"])
@pytest.mark.parametrize("shape", [(1 << 17, 1 << 17), (1 << 16, 3 << 15, 1 << 14), (48, 1 << 16)], ids=str)
def test_however_many_axes_there_are_prices_are_those_of_copies(machine: str, shape: tuple[int, ...]):
    """Of ways over few of five axes; of others they are no more than what copies take."""
    rates, draw = Rates(load(machine), FIVE).over_whole_axes(), random.Random(f"{machine} {shape}")
    type, prices, same = TensorType(shape, "bf16"), Prices(alone(FIVE.several), rates), 0
    pairs = list[tuple[Sharding, Sharding]]()
    for _ in range(60):
        source = drawn(FIVE, len(shape), draw)
        axis = draw.choice(FIVE.several)
        kept = [tuple(other for other in dim.axes if other != axis) for dim in source.dims]
        kept[draw.randrange(len(shape))] += (axis,)
        partial = tuple(other for other in source.unreduced if other != axis)
        pairs.append((source, Sharding(FIVE, tuple(map(Dim, kept)), unreduced=partial)))
    prices.learn(type, pairs, PLAIN)
    for source, target in pairs:
        known, exact = prices(type, source, target)[0], rates.copies(type, source, (target,), PLAIN)[0]
        assert known <= exact * (1 + 1e-6) + 1
        same += known == pytest.approx(exact, rel=1e-6)
    assert same > (50 if all(size % FIVE.size == 0 for size in shape) else 10)


def test_the_devices_of_a_node_help_to_send():
    """Copies on the axis within a node: each of its devices sends a part to the others, and they put the
    parts together."""
    mesh = Mesh("nodes", (("pod", 2), ("data", 2), ("fsdp", 4), ("seq", 2), ("model", 8)))
    axis, rates = mesh.axis, Rates(load("h100-infiniband"), mesh)
    type = TensorType((8192, 8192), "f32")
    source, target = (Sharding(mesh, (Dim((axis("data"), *more)), Dim(()))) for more in ((axis("fsdp"),), ()))
    made = rates.made(type, source, (target,), PLAIN)
    kinds = [plan.steps[0].kind for _, _, plan in made]
    assert kinds == ["all_slice", "all_gather"] and axis("model") in made[0][1].axes()
    assert 2 * ticks(rates, type, made) < ticks(rates, type, direct(type, source, target))
