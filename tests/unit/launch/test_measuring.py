"""A machine is fitted to times, and written so that --machine reads it."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from shardc.analysis import per_device
from shardc.compilation import lower
from shardc.diagnostics import ShardcError, collecting
from shardc.frontend.read import read as read_program
from shardc.launch import timing, working
from shardc.launch.fitting import Device, Timed, fitted, multiplied_at, rate
from shardc.launch.measure_jax import Names, Work
from shardc.launch.measuring import (
    SIZES,
    Links,
    Sample,
    Site,
    block_shape,
    fit,
    operand_bytes,
    processes,
    toml,
)
from shardc.launch.timing import REPEATS, Call, Clock, exchanged, quickest
from shardc.launch.working import (
    ACROSS,
    FUNCTIONS,
    ORDERED,
    SIDES,
    TURNED,
    WORK,
    Function,
    Product,
    blocks,
    measured,
)
from shardc.layout import Mesh
from shardc.ops import spmd
from shardc.options import Options
from shardc.planning.machines import load, read, seconds, shipped
from shardc.planning.machines.links import Exchange
from shardc.planning.machines.machine import Machine
from shardc.report.times import estimate

RATES = {
    "f32": 2e10,
    "f64": 1e10,
    "other": 5e9,
    "function": 7e8,
    "choice": 3e9,
    "serial": 1e9,
    "argmax": 2e9,
    "scatter": 4e8,
    "convolution": 8e9,
    "sort": 1e8,
}
DEVICE = Device(
    RATES, 1e10, 2e9, 4e9, {"f32": 0.1, "other": 0.2}, {"f32": "1e+10 (4x4 @ 4x4) to 3e+10 (8x8 @ 8x8)"}
)


COLLECTIVES = (
    spmd.all_reduce,
    spmd.reduce_scatter,
    spmd.all_gather,
    spmd.all_to_all,
    spmd.collective_permute,
)


STRIDED = 5e8
"""Bytes/s of what gathers and scatters columns."""


def samples(devices: int, latency: float, bandwidth: float, noise: float = 0.0) -> list[Sample]:
    """Of rows, and of what gathers and scatters columns too."""
    rng = np.random.default_rng(0)
    found = []
    for kind in COLLECTIVES:
        for size in SIZES:
            for strided in (False, True) if kind in (spmd.reduce_scatter, spmd.all_gather) else (False,):
                operand = operand_bytes(kind, size, devices)
                assert kind.steps is not None and kind.sends is not None
                sent = kind.sends(operand, devices) * devices
                exact = kind.steps(devices) * latency + sent / (STRIDED if strided else bandwidth)
                found.append(Sample(kind, operand, exact * (1 + noise * rng.standard_normal()), strided))
    return found


SOME = [sample for sample in samples(8, 2e-5, 3e9) if not sample.strided]


@pytest.mark.parametrize("devices", [2, 8])
def test_a_link_is_found_again(devices: int):
    found = fit(samples(devices, 2e-5, 3e9), devices, "MPI")
    for own in found.links[0].each:
        columns = own.title in (spmd.reduce_scatter.title, spmd.all_gather.title)
        assert (own.latency, own.bandwidth) == pytest.approx((2e-5, 3e9))
        assert own.strided == pytest.approx(STRIDED if columns else 3e9)
    assert max(found.errors.values()) < 1e-6


@pytest.mark.parametrize("devices", [2, 8])
def test_all_of_a_link_is_found_again(devices: int):
    straight = [sample for sample in samples(devices, 2e-5, 3e9) if not sample.strided]
    (link,) = fit(straight, devices, "MPI").links
    assert link.latency == pytest.approx(2e-5)
    assert link.bandwidth == pytest.approx(3e9)
    assert all(own.strided == own.bandwidth for own in link.each)


def test_noise_is_averaged():
    for own in fit(samples(8, 2e-5, 3e9, 0.1), 8, "MPI").links[0].each:
        assert (own.latency, own.bandwidth) == pytest.approx((2e-5, 3e9), rel=0.3)


def test_latency_is_never_negative():
    (link,) = fit(samples(8, 0.0, 3e9, 0.1), 8, "MPI").links
    assert link.latency > 0 and link.bandwidth > 0


def test_the_file_is_a_machine():
    text = toml(processes("MPI", 8), DEVICE, fit(samples(8, 2e-5, 3e9), 8, "MPI"))
    machine = read(text, "here.toml")
    assert machine.flops == RATES
    assert "f32 = 2e+10 # 1e+10 (4x4 @ 4x4) to 3e+10 (8x8 @ 8x8)\n" in text
    assert (machine.bandwidth, machine.turned, machine.multiplied) == (1e10, 2e9, 4e9)
    assert machine.links[0].kind == "shared"
    assert machine.links[0].rates("all-reduce", False) == pytest.approx((3e9, 2e-5))


@pytest.mark.parametrize("name", shipped())
def test_another_machine_lends_its_links(name: str):
    lent = load(name)
    text = toml(
        Site('a "GPU"\n', "gpu", "here", 8e10), DEVICE, Links(lent.links, {"model": lent.links[0].name})
    )
    machine = read(text, "here.toml")
    assert (machine.name, machine.memory, machine.links) == ('a "GPU"\n', 8e10, lent.links)
    assert machine.axes == {"model": lent.links[0].name}


def test_what_is_fitted_is_what_the_planner_asks_for():
    """The machine that was read says of each sample the time that it took."""
    machine = read(toml(processes("MPI", 8), DEVICE, fit(samples(8, 2e-5, 3e9), 8, "MPI")), "here.toml")
    mesh = Mesh("m", (("x", 8),))
    for sample in samples(8, 2e-5, 3e9):
        assert sample.kind.sends is not None
        sent = sample.kind.sends(sample.nbytes, 8)
        exchange = Exchange(
            str(sample.kind.title), (mesh.axis("x"),), 8, sent, sample.nbytes, strided=sample.strided
        )
        assert seconds(machine, machine.links[0], mesh, exchange) == pytest.approx(sample.seconds, rel=1e-3)


def test_each_collective_has_rates_of_its_own():
    """Where the all-reduce is slower than the others, it is the only one that is."""
    slow = [
        replace(s, seconds=s.seconds * (3 if s.kind is COLLECTIVES[0] else 1)) for s in samples(8, 2e-5, 3e9)
    ]
    machine = read(toml(processes("MPI", 8), DEVICE, fit(slow, 8, "MPI")), "here.toml")
    link = machine.links[0]
    assert link.rates("all-reduce", False) == pytest.approx((1e9, 6e-5), rel=1e-3)
    assert link.rates("all-to-all", False) == pytest.approx((3e9, 2e-5), rel=1e-3)
    assert link.best == pytest.approx((3e9, 2e-5), rel=1e-3)


def test_only_a_shared_link_has_rates_of_collectives():
    text = toml(processes("MPI", 8), DEVICE, fit(samples(8, 2e-5, 3e9), 8, "MPI"))
    with pytest.raises(ShardcError, match="own on a shared link, not on one of kind ring"):
        read(text.replace('"shared"', '"ring"'), "here.toml")
    with pytest.raises(ShardcError, match="all-gone"):
        read(text.replace("each.all-gather", "each.all-gone"), "here.toml")


@pytest.mark.parametrize("devices", [2, 3, 6, 8])
def test_blocks_divide(devices: int):
    for size in SIZES:
        rows, columns = block_shape(size, devices)
        assert rows % devices == 0 == columns % devices
        assert rows * columns * 4 == pytest.approx(size, rel=1.0) or rows == columns == devices


def timed(operations: float, bytes: float, rate: float) -> Timed:
    """On a machine with this rate and 10 GB/s to its memory."""
    return Timed(operations, bytes, operations / rate + bytes / 1e10)


def test_memory_is_not_counted_in_the_rates_beside_it():
    """Of products and sorts: what they read and write takes its own time."""
    samples = [timed(2 * side**3, 12 * side**2, 2e10) for side in (64, 128, 512)]
    assert rate(samples, 1e10) == (pytest.approx(2e10), pytest.approx(0, abs=1e-9))


def test_what_products_read_has_a_bandwidth_of_its_own():
    """Found beside the rates, which differ by dtype."""
    samples = {
        dtype: [
            Timed(2 * m * k * n, bytes, 2 * m * k * n / rate + bytes / 2e9)
            for m, k, n in ((512, 512, 512), (1024, 64, 1024), (16, 1024, 1024))
            for bytes in [4 * (m * k + k * n + m * n)]
        ]
        for dtype, rate in (("f32", 2e10), ("f64", 1e10))
    }
    rates, bandwidth, errors = multiplied_at(samples)
    assert (rates, bandwidth) == (pytest.approx({"f32": 2e10, "f64": 1e10}), pytest.approx(2e9))
    assert max(errors.values()) < 1e-6


def test_twice_as_long_is_as_far_off_as_half_as_long():
    """Least squares of relative errors would find 1.7e9."""
    assert rate([Timed(1e6, 0, 5e-4), Timed(1e6, 0, 2e-3)], 1e10)[0] == pytest.approx(1e9)
    slow, quick, both = (
        fit([replace(s, seconds=by * s.seconds) for s in SOME for by in times], 8, "MPI").links[0]
        for times in ((2,), (0.5,), (2, 0.5))
    )
    assert both.bandwidth == pytest.approx((slow.bandwidth * quick.bandwidth) ** 0.5, rel=1e-3)
    assert both.latency == pytest.approx((slow.latency * quick.latency) ** 0.5, rel=1e-3)


def test_a_rate_is_positive_where_memory_is_slower_than_measured():
    found, _ = rate([Timed(1e6, 1e8, 1e-3)], 1e10)
    assert 0 < found < float("inf")


def test_what_is_sorted_is_in_no_order():
    x, y = blocks(64)
    assert len(np.unique(x)) > 4000 and not np.array_equal(x, y)
    assert ((x > 0.2) & (x < 0.8)).all()


def test_what_is_read_was_not_read_just_before(monkeypatch: pytest.MonkeyPatch):
    """Equal blocks, in memory that comes again only after so many bytes."""
    monkeypatch.setattr(working, "_APART", 100_000)
    pairs = working.copies(64, np.copy)
    some = [next(pairs) for _ in range(8)]
    places = [block.__array_interface__["data"][0] for pair in some for block in pair]
    assert places[:2] == places[8:10] and len(set(places)) == 8
    assert all(np.array_equal(block, whole) for block, whole in zip(some[3], blocks(64), strict=True))


def test_jax_reads_other_blocks_each_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(working, "_APART", 100_000)
    read = list[Any]()
    work = Work(pytest.importorskip("jax"))
    monkeypatch.setattr(work, "_compiled", lambda *given: lambda x, y: read.append(x))
    call = work.functions(64)(WORK[0])
    for _ in range(8):
        call()
    assert read[0] is read[4] and len({id(block) for block in read}) == 4


def test_rates_of_functions_are_found_again():
    samples = [timed(f.counted(side), 4 * f.moved * side**2, 5e9) for side in SIDES for f in WORK]
    assert fitted(samples) == (pytest.approx(5e9), pytest.approx(1e10), pytest.approx(0, abs=1e-9))


class Watch:
    """A clock that shows what its runs say they take, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.runs, self.counts = 0.0, list[object](), Counter[object]()
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)

    def run(self, name: object, seconds: Callable[[int], float]) -> Call:
        """Takes so many seconds the so manieth time; the first is 0."""

        def run() -> None:
            self.now += seconds(self.counts[name])
            self.counts[name] += 1
            self.runs.append(name)

        return run


def clock(together: Call = lambda: None, *others: Callable[[np.ndarray], np.ndarray], **wait: Any) -> Clock:
    """Of a process, and of others whose times are a function of its own."""
    return Clock(together, lambda own: np.stack([own, *(other(own) for other in others)]), **wait)


def test_runs_take_turns_and_the_slowest_process_counts(monkeypatch: pytest.MonkeyPatch):
    """While the machine is slow, from the third turn to the ninth, it is for all."""
    watch = Watch(monkeypatch)
    runs = [watch.run(name, lambda turn, name=name: name * (5 if 2 < turn < 9 else 2)) for name in (1, 3)]
    assert quickest(runs, clock(lambda: None, lambda own: own * 2)) == [2 * 2, 6 * 2]
    assert watch.runs == [1, 3] * 12


def test_short_runs_are_repeated_in_a_turn(monkeypatch: pytest.MonkeyPatch):
    """As often on all processes: as the slowest, whose runs take ten times as long, fills a turn."""
    watch = Watch(monkeypatch)
    monkeypatch.setattr(timing, "STEADY", 6.0)
    runs = [watch.run(name, lambda turn, name=name: name) for name in (0.25, 2.0)]
    assert quickest(runs, clock(lambda: None, lambda own: 10 * own)) == [2.5, 20.0]
    assert watch.runs == [0.25, 2.0] * 2 + ([0.25] * 3 + [2.0]) * 10


def test_only_the_last_run_of_a_turn_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    """The runs are begun at once, and each takes 2 s: as on an accelerator."""
    watch = Watch(monkeypatch)
    monkeypatch.setattr(timing, "STEADY", 6.0)
    left: list[float] = []
    run = watch.run("begun", lambda turn: 0.0)

    def begin() -> int:
        run()
        left.append(2.0)
        return len(left)

    def wait(last: object) -> None:
        assert last in (None, len(left))
        watch.now += sum(left)
        left.clear()

    assert quickest([begin], clock(wait=wait)) == [2.0]
    assert len(watch.runs) == 2 + 10 * 3


def test_a_process_that_begins_late_makes_no_other_quicker(monkeypatch: pytest.MonkeyPatch):
    """The other begins 3 s late: alone, each has both cores, and takes 2 s. Nothing but waiting for each
    other takes 1 s."""
    watch = Watch(monkeypatch)

    def together() -> None:
        watch.now += 3.0 + 1.0 if watch.runs else 1.0
        watch.runs.clear()

    assert quickest([watch.run("own", lambda turn: 2.0)], clock(together)) == [2.0 + 3.0]


def test_what_a_collective_adds_to_the_work_before_it(monkeypatch: pytest.MonkeyPatch):
    """Nothing is added where waking up is quick; after work it takes 3 s and not 1 s. Other processes are
    twice as slow."""
    watch = Watch(monkeypatch)
    work = watch.run("work", lambda turn: 4.0)
    awake = watch.run("awake", lambda turn: 1.0)
    asleep = watch.run("asleep", lambda turn: 3.0 if watch.runs[-1:] == ["work"] else 1.0)
    assert exchanged([awake, asleep], work, clock(lambda: None, lambda own: 2 * own)) == [2.0, 6.0]
    assert watch.counts["awake"] == 2 + 2 * REPEATS


def test_a_collective_takes_at_least_what_it_takes_alone(monkeypatch: pytest.MonkeyPatch):
    """Work that happens to be quicker before it says nothing."""
    watch = Watch(monkeypatch)
    work = watch.run("work", lambda turn: 4.0 if turn > 12 else 1.0)
    assert exchanged([watch.run("run", lambda turn: 1.0)], work, clock()) == [1.0]


def test_blocks_of_one_size_are_there_at_a_time(monkeypatch: pytest.MonkeyPatch):
    """What made those of another size is gone when the next are made."""
    watch, made = Watch(monkeypatch), list[weakref.ref[Any]]()

    def product(one: Product) -> Call:
        return watch.run(one, lambda turn: sum(one.counted) / 1e9)

    def functions(side: int) -> Callable[[Function], Call]:
        assert all(block() is None for block in made)
        block = np.empty(side)
        made.append(weakref.ref(block))
        return lambda f: watch.run(f, lambda turn: f.moved * len(block) ** 2 / 1e9)

    measured(product, functions, ("f32",), clock())
    assert len(made) == len(SIDES)


@pytest.mark.parametrize("fuses", [True, False])
def test_a_device_is_found_again(monkeypatch: pytest.MonkeyPatch, fuses: bool):
    watch = Watch(monkeypatch)

    def product(one: Product) -> Call:
        m, k, n = one.sizes
        itemsize = 8 if one.dtype == "f64" else 4
        bytes = itemsize * (m * k + k * n + m * n)
        across = itemsize * m * k / 2e9 if one.turned[0] and fuses else 0
        seconds = 2 * m * k * n / RATES[one.dtype] + bytes / 4e9 + across
        return watch.run(one, lambda turn: seconds)

    def function(side: int, f: Function) -> Call:
        given = f.timed(side, 0.0, fuses)
        seconds = timed(given.operations, given.bytes, RATES[f.rate]).seconds + given.across / 2e9
        return watch.run((f, side), lambda turn: seconds)

    found = measured(product, lambda side: partial(function, side), ("f32", "f64"), clock(), fuses=fuses)
    assert found.rates == pytest.approx(RATES)
    assert [*found.rates] == [
        *("f32", "f64", "function", "choice", "serial", "argmax", "sort", "scatter", "convolution", "other")
    ]
    assert (found.bandwidth, found.turned) == (pytest.approx(1e10), pytest.approx(2e9))
    assert found.multiplied == pytest.approx(4e9)
    assert found.shapes["f32"].endswith(" to 1.9e+10 (1024x512 @ 512x1024)")
    assert found.shapes["f32"].startswith("1.2e+10 ((1024x16).T @ 1024x1024)") == fuses
    assert max(found.errors.values()) < 1e-6


def test_rates_that_are_equal_are_each_counted(monkeypatch: pytest.MonkeyPatch):
    """Elementwise work that only waits for memory has the rate of the quickest products."""
    watch = Watch(monkeypatch)

    def product(one: Product) -> Call:
        operations, bytes = one.counted
        return watch.run(one, lambda turn: operations / 1e12 + bytes / 1e10 + one.across / 5e8)

    def function(side: int, f: Function) -> Call:
        return watch.run((f, side), lambda turn: (f.moved / 1e10 + f.across / 2e9) * 4 * side**2)

    found = measured(product, lambda side: partial(function, side), ("f32",), clock())
    assert found.rates["other"] == found.rates["f32"]
    assert 5e8 < found.turned < 2e9


@pytest.mark.parametrize(
    ("work", "fuses"),
    [
        (f, fuses)
        for f in (*WORK, *FUNCTIONS, *ORDERED, *ACROSS)
        for fuses in (True, False)
        if fuses or not f.fused
    ],
)
def test_functions_count_what_the_planner_counts(work: Function, fuses: bool):
    """Operations and bytes of the function as it is lowered, by the report's own rule."""
    side = 1024
    seconds = lowered(work.run, ((side, side), (side, side)), work.rate, fuses)
    timed = work.timed(side, 1.0, fuses)
    assert seconds(1.0, inf, inf) == pytest.approx(work.counted(side), rel=0.05)
    assert seconds(inf, 1.0, inf) == pytest.approx(timed.bytes, rel=0.05)
    assert seconds(inf, inf, 1.0) == timed.across


@pytest.mark.parametrize("turned", TURNED)
def test_products_count_what_the_planner_counts(turned: tuple[bool, bool]):
    product = Product("f32", (64, 32, 16), turned)
    seconds = lowered(lambda jnp, a, b: product.run(a, b), product.shapes, "f32")
    assert (seconds(1.0, inf, inf), seconds(inf, 1.0, inf)) == product.counted
    assert seconds(inf, inf, 1.0) == product.across == (4 * 64 * 32 if turned == (True, False) else 0)


def lowered(
    function: Callable[..., object], shapes: tuple[tuple[int, ...], ...], rate: str, fuses: bool = True
) -> Callable[[float, float, float], float]:
    """The report's seconds of a function that JAX lowers, by operations/s of `rate`, bytes/s and turned
    bytes/s."""
    jax = pytest.importorskip("jax")
    given = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    called = jax.jit(lambda x, y: function(Names(jax), x, y), keep_unused=True)
    with collecting():
        program = per_device.read(
            lower(read_program(called.lower(*given).as_text(), Options(file="work.mlir")), Options())
        )

    def seconds(operations: float, bandwidth: float, turned: float) -> float:
        rates = {"other": inf, "f32": inf, rate: operations}
        machine = Machine("m", "", 1, bandwidth, rates, load("balanced").links, {}, turned, fuses)
        return estimate(machine, program, (), 0).work_ns / 1e9

    return seconds
