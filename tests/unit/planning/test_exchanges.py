"""What forms send, and what is sent in stages, is priced as what is emitted takes."""

from __future__ import annotations

import pytest

from shardc.analysis import per_device
from shardc.compilation import by_latency
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.machines import load
from shardc.planning.program import Plan
from shardc.report.times import estimate
from shardc.report.traffic import collectives

ROLL = """
mesh m[d=8]
def main(x: f32[1024@d, 64]) -> f32[1024@d, 64]:
    return x + roll(x, 1, axis=0) + roll(x, -1, axis=0)
"""
LARGEST = """
mesh m[d=8]
def main(x: f32[64, 65536@d]) -> i32[64]:
    return argmax(x, axis=1)
"""
RUNNING = """
mesh m[d=8]
def main(x: f32[4096@d, 64]) -> f32[4096@d, 64]:
    return cumsum(x, axis=0)
"""
GATHERED = """
mesh m[d=16]
def main(x: f32[16384@d]) -> f32[16384] replicated:
    return x
"""
SUMMED = """
mesh m[d=16]
def main(x: f32[4096@d, 1048576]) -> f32[1048576] replicated:
    return sum(x, axis=0)
"""


def communication(text: str, machine: str) -> tuple[list[str], int, int]:
    """The collectives that are emitted, and nanoseconds of them: by the report and by the planner."""
    plans: list[Plan] = []
    options = Options(file="prog.shard", machine=machine)
    with collecting():
        module = read(text, options)
        told = dict(by_latency(module, options))
        told["insert-reshards"] = {**told["insert-reshards"], "told": plans.append}
        run_to(make_context(), module, "local", options=told)
    device = per_device.read(snapshot(module).graph)
    found = collectives(device)
    time = plans[0].time
    assert time is not None
    spent = estimate(load(machine), device, found, 0).communication_ns
    return [each.op for each in found], spent, round(time.communication_fs / 1e6)


@pytest.mark.parametrize("machine", ["h100-infiniband", "tpu-v4p", "tpu-v5e"])
@pytest.mark.parametrize(
    ("text", "ops"),
    [
        pytest.param(ROLL, ["permute"] * 2, id="one step around the ring each"),
        pytest.param(LARGEST, ["all-gather"] * 2, id="half the steps of all-reduces"),
        pytest.param(RUNNING, ["all-gather"], id="the totals of blocks"),
    ],
)
def test_of_forms(text: str, ops: list[str], machine: str):
    if text is ROLL and machine == "tpu-v5e":
        ops = ["all-gather"]  # eight devices are a line there, on which the last is far from the first
    found, spent, planned = communication(text, machine)
    assert found == ops
    assert planned == pytest.approx(spent, rel=1e-3)


def test_few_bytes_are_worth_two_reductions_where_nothing_waits():
    assert communication(LARGEST, "balanced")[0] == ["all-reduce"] * 2


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        (GATHERED, ["all-gather"] * 2),
        (SUMMED, ["reduce-scatter", "all-reduce", "all-gather"]),
    ],
)
def test_in_stages(text: str, ops: list[str]):
    found, spent, planned = communication(text, "h100-infiniband")
    assert found == ops
    assert planned == pytest.approx(spent, rel=1e-2)  # blocks are put right, which is work
