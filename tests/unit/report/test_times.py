"""Times of collectives on machines: worked examples of the scaling book, and the formulas of nccl-tests."""

from __future__ import annotations

import pytest

from shardc.analysis import per_device
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read as read_program
from shardc.layout import Axis, Mesh
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.machines import devices_of, link_of, load, read, seconds, shipped, with_axes
from shardc.planning.program import Plan, PlanTime
from shardc.report.times import Estimate, estimate
from shardc.report.traffic import Collective, collectives


def collective(op: str, mesh: Mesh, axes: str, operand_bytes: int, sent: int = 0, pairs=()) -> Collective:
    over = tuple(mesh.axis(name) for name in axes.split())
    group = 1
    for axis in over:
        group *= axis.size
    return Collective(
        op,
        None,
        tuple(axes.split()),
        group,
        "",
        sent,
        1,
        False,
        "",
        "",
        False,
        None,
        over,
        pairs,
        operand_bytes,
    )


def microseconds(machine: str, mesh: Mesh, found: Collective) -> float:
    known = load(machine)
    return seconds(known, link_of(known, mesh, found.over), mesh, found) * 1e6


def test_v5e_all_gather_on_a_line_and_on_a_ring() -> None:
    """bf16[2048, 8192] over Y=4: each device holds a quarter of 34 MB. A v5e axis of 4 has no wraparound."""
    quarter = 2048 * 8192 * 2 // 4
    line = Mesh("m", (("X", 4), ("Y", 4)))
    assert microseconds("tpu-v5e", line, collective("all-gather", line, "Y", quarter)) == pytest.approx(
        560, rel=0.01
    )
    machine = with_axes(load("tpu-v5e"), {})
    ring = machine.links[0].__class__("ICI", "torus", 4.5e10, 1e-6, None, 4)
    time = seconds(machine, ring, line, collective("all-gather", line, "Y", quarter))
    assert time * 1e6 == pytest.approx(377, rel=0.02)


V4P = Mesh("m", (("X", 4), ("Y", 4), ("Z", 4)))
ARRAY = 1024 * 4096 * 2
"""bf16[1024, 4096] in bytes."""


def test_v4p_all_gather_over_x() -> None:
    """[B_X, D_Y] -> [B, D_Y]: the operand is the block of 1/16, the result 1/4 of the array."""
    found = collective("all-gather", V4P, "X", ARRAY // 16)
    assert microseconds("tpu-v4p", V4P, found) == pytest.approx(23, rel=0.02)


def test_v4p_all_gather_over_two_axes() -> None:
    """[B_X, D_Y] -> [B, D]: the result is the whole array, over two rings at once."""
    found = collective("all-gather", V4P, "X Y", ARRAY // 16)
    assert microseconds("tpu-v4p", V4P, found) == pytest.approx(46, rel=0.02)


def test_v4p_all_reduce_of_the_whole_array_and_of_the_block() -> None:
    """The book's 190 us are for the whole bf16[1024, 4096]; the block [B_X, D_Y] has a sixteenth of it."""
    whole = microseconds("tpu-v4p", V4P, collective("all-reduce", V4P, "Z", ARRAY))
    block = microseconds("tpu-v4p", V4P, collective("all-reduce", V4P, "Z", ARRAY // 16))
    assert whole == pytest.approx(190, rel=0.02)
    assert block == pytest.approx(whole / 16, rel=1e-6)


def test_small_collectives_on_a_torus_take_their_hops() -> None:
    assert microseconds("tpu-v4p", V4P, collective("all-gather", V4P, "X Y", 4)) == pytest.approx(4)


def test_axes_of_one_device_take_no_time_on_a_torus() -> None:
    mesh = Mesh("m", (("X", 4), ("Y", 1)))
    alone, both = (collective("all-gather", mesh, axes, 1 << 22) for axes in ("X", "X Y"))
    assert microseconds("tpu-v5e", mesh, both) == microseconds("tpu-v5e", mesh, alone) > 0
    assert microseconds("tpu-v5e", mesh, collective("all-gather", mesh, "Y", 1 << 22)) == 0


def test_all_to_all_is_a_quarter_of_an_all_gather() -> None:
    gather = microseconds("tpu-v4p", V4P, collective("all-gather", V4P, "X", 1 << 22))
    assert microseconds("tpu-v4p", V4P, collective("all-to-all", V4P, "X", 1 << 22)) == pytest.approx(
        gather / 4
    )


def test_a_permute_goes_the_short_way() -> None:
    around = collective("permute", V4P, "X", 1 << 22, pairs=((0, 1), (1, 2), (2, 3), (3, 0)))
    assert microseconds("tpu-v4p", V4P, around) == pytest.approx((1 << 22) / 4.5e10 * 1e6)


@pytest.mark.parametrize(
    ("op", "steps", "factor"),
    [
        ("all-reduce", 14, 14 / 8),
        ("all-gather", 7, 7 / 8),
        ("reduce-scatter", 7, 7 / 8),
        ("all-to-all", 7, 7 / 8),
    ],
)
def test_rings_with_latency(op: str, steps: int, factor: float) -> None:
    """Eight GPUs of a node, S = 64 MiB: steps * latency + factor * S / B."""
    mesh, size = Mesh("m", (("data", 2), ("model", 8))), 1 << 26
    found = collective(op, mesh, "model", 0, round(factor * size))
    assert microseconds("h100-infiniband", mesh, found) == pytest.approx(steps * 2 + factor * size / 4.5e5)


def test_groups_across_nodes_use_the_outer_link() -> None:
    """model is within a node, data is not; over both, eight ports of a node send side by side."""
    machine, mesh = load("h100-infiniband"), Mesh("m", (("data", 2), ("model", 8)))
    data, model = mesh.axis("data"), mesh.axis("model")
    assert [link_of(machine, mesh, axes).name for axes in ((model,), (data,), (data, model))] == [
        "NVLink", "InfiniBand", "InfiniBand",
    ]  # fmt: skip
    across = collective("permute", mesh, "data", 0, 10**6)
    both = collective("permute", mesh, "data model", 0, 10**6)
    assert microseconds("h100-infiniband", mesh, across) == pytest.approx(5 + 20)
    assert microseconds("h100-infiniband", mesh, both) == pytest.approx(5 + 2.5)


def test_the_order_of_devices_decides() -> None:
    """On a mesh whose devices are transposed, data is within a node."""
    order = tuple(m * 2 + d for d in range(2) for m in range(8))
    mesh = Mesh("m", (("data", 2), ("model", 8)), order)
    machine = load("h100-infiniband")
    assert link_of(machine, mesh, (mesh.axis("data"),)).name == "NVLink"
    assert link_of(machine, mesh, (mesh.axis("model"),)).name == "InfiniBand"
    given = with_axes(machine, {"model": "NVLink"})
    assert link_of(given, mesh, (mesh.axis("model"),)).name == "NVLink"


def test_a_group_over_axes_of_which_some_are_said_spans_the_outermost_of_their_links() -> None:
    mesh, machine = Mesh("m", (("data", 2), ("model", 4))), load("h100-infiniband")
    both = mesh.axis("data"), mesh.axis("model")
    assert link_of(machine, mesh, both).name == "NVLink"
    assert link_of(with_axes(machine, {"model": "InfiniBand"}), mesh, both).name == "InfiniBand"
    assert link_of(with_axes(machine, {"model": "NVLink"}), mesh, both).name == "NVLink"
    wide = Mesh("m", (("data", 4), ("model", 8)))
    given = with_axes(machine, {"model": "NVLink"})
    assert link_of(given, wide, (wide.axis("data"), wide.axis("model"))).name == "InfiniBand"


def test_groups_of_parts_of_axes() -> None:
    mesh = Mesh("m", (("a", 2), ("b", 4)))
    assert devices_of(mesh, (Axis("b", 2, 2),)).tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert devices_of(mesh, (Axis("b", 2), mesh.axis("a"))).tolist() == [[0, 4, 2, 6], [1, 5, 3, 7]]


def test_devices_in_one_memory_share_it() -> None:
    mesh = Mesh("m", (("x", 4),))
    found = collective("permute", mesh, "x", 0, 10**6)
    assert microseconds("laptop", mesh, found) == pytest.approx(20 + 4 * 10**6 / 2e4)


PRODUCT = """
mesh m[x=4]

def main(x: f32[4096@x, 1024], w: f32[1024@x, 1024]) -> f32[4096@x, 1024]:
    return tanh(x @ w) * 2 + x
"""


def priced(text: str, machine: str) -> tuple[Estimate, PlanTime]:
    """A program's time by the report, and by the planner."""
    plans: list[Plan] = []
    with collecting():
        module = read_program(text, Options(file="prog.shard"))
        options = {"insert-reshards": {"machine": load(machine), "told": plans.append}}
        run_to(make_context(), module, "local", options=options)
    graph = snapshot(module).graph
    program = per_device.read(graph)
    time = plans[0].time
    assert time is not None
    return estimate(load(machine), program, collectives(program), 1), time


def test_totals() -> None:
    """One gather of w; a product; and a chain that reads the product and x and writes the result."""
    found, _ = priced(PRODUCT, "h100-infiniband")
    gather = 3 * 2_000 + 3 * 256 * 1024 * 4 / 450
    product, block, weights = 2 * 1024**3 / 4.94e14 * 1e9, 1024 * 1024 * 4, 1024 * 1024 * 4
    chain = 3 * 1024 * 1024 / 6.7e13 * 1e9 + 3 * block / 3350
    assert found.communication_ns == pytest.approx(gather, abs=1)
    assert found.matmul_ns == pytest.approx(product, abs=1)
    assert found.work_ns == pytest.approx(product + (2 * block + weights) / 3350 + chain, abs=2)
    assert found.total_ns == found.communication_ns + found.work_ns
    assert found.overlapped_ns == max(found.communication_ns, found.work_ns)
    assert found.fits


SUM = """
mesh m[a=2, b=8]

def main(x: f32[4096@a, 2048@b], w: f32[2048@b, 1024]) -> f32[4096@a, 1024@b]:
    y = tanh(x @ w)
    for t in range(3) carrying y:
        y = y - mean(y * y, axis=0, keepdims=True)
    return y * 2
"""


@pytest.mark.parametrize("machine", ["balanced", "h100-infiniband", "tpu-v5e", "tpu-v4p", "laptop"])
@pytest.mark.parametrize("text", [PRODUCT, SUM])
def test_the_report_and_the_planner_agree(text: str, machine: str) -> None:
    """To the nanosecond in collectives; in work but for the few elements that are laid out around them."""
    found, time = priced(text, machine)
    assert found.communication_ns == pytest.approx(time.communication_fs / 1e6, rel=1e-3)
    assert found.work_ns == pytest.approx((time.work_fs + time.repeated_fs) / 1e6, rel=0.02)


def test_what_is_shipped() -> None:
    assert shipped() == ("balanced", "bytes", "h100-infiniband", "laptop", "tpu-v4p", "tpu-v5e")
    assert all(load(name).source for name in shipped())


MACHINE = """name = "m"
source = "s"

[device]
memory = 1e9
bandwidth = 1e9

[device.flops]
other = 1e12

[[links]]
name = "a"
kind = "ring"
devices = 4
bandwidth = 1e9
latency = 1e-6

[[links]]
name = "b"
kind = "ring"
bandwidth = 1e9
latency = 1e-6
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("memory = 1e9", "memory = ", 5, "this is not TOML"),
        ("memory = 1e9", "memori = 1e9", 5, "device.memori means nothing here"),
        ("memory = 1e9", "memory = -1", 5, "device.memory is a positive number, not -1"),
        ("memory = 1e9", 'memory = "big"', 5, "device.memory is a positive number, not 'big'"),
        ("memory = 1e9\n", "", 4, "[device] has no memory"),
        ("other = 1e12", "bf17 = 1e12", 9, "device.flops.bf17 means nothing here"),
        ('kind = "ring"\nbandwidth', 'kind = "string"\nbandwidth', 20, "string is no kind of link"),
        ("devices = 4", "devices = 4.5", 14, "links.devices is a whole number, not 4.5"),
        ("devices = 4\n", "", 11, "link a needs devices"),
        ("devices = 4", "wraparound = 4\ndevices = 4", 14, "wraparound is of a torus"),
        ('name = "b"', 'name = "a"', 19, "two links are called a"),
        ('name = "m"', "name = 3", 1, "name is a text, not 3"),
        ("[[links]]", "[[lynx]]", 11, "lynx means nothing here"),
        ("latency = 1e-6\n\n", 'latency = 1e-6\n[axes]\nmodel = "c"\n', 18, "there is no link c"),
    ],
)
def test_a_wrong_file_is_an_error_at_its_line(old: str, new: str, line: int, message: str) -> None:
    from shardc.diagnostics import ShardcError

    with pytest.raises(ShardcError) as caught:
        read(MACHINE.replace(old, new), "m.toml")
    assert message in str(caught.value)
    diagnostic = caught.value.diagnostic
    assert diagnostic.loc.file == "m.toml"
    assert diagnostic.loc.line == line, str(caught.value)
