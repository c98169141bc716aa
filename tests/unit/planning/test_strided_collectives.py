"""Gathers and scatters along the last dimension of several have a bandwidth of their own."""

from __future__ import annotations

import pytest

from shardc.analysis import per_device
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read as read_program
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.machines import Machine, is_strided, read
from shardc.planning.program import Plan
from shardc.report.times import estimate
from shardc.report.traffic import collectives

MACHINE = """
name = "m"
source = "s"
[device]
memory = 1e12
bandwidth = 1e18
[device.flops]
other = 1e18
[[links]]
name = "here"
kind = "shared"
bandwidth = 1e9
latency = 0
[links.each.{title}]
bandwidth = 1e9
latency = 0
{strided}
"""

GATHER = "mesh m[a=2]\ndef main(x: {given}) -> f32[64, 32, 16] replicated:\n    return x"


def compiled(program: str, machine: Machine) -> tuple[list[str], int, int]:
    """Operands of the collectives; nanoseconds of communication, by the report and by the planner."""
    plans: list[Plan] = []
    with collecting():
        module = read_program(program, Options(file="prog.shard"))
        options = {"insert-reshards": {"machine": machine, "told": plans.append}}
        run_to(make_context(), module, "local", options=options)
    device = per_device.read(snapshot(module).graph)
    found = collectives(device)
    time = plans[0].time
    assert time is not None
    operands = [f"{collective.op} {collective.operand}" for collective in found]
    return operands, estimate(machine, device, found, 0).communication_ns, round(time.communication_fs / 1e6)


def nanoseconds(program: str, title: str, strided: str = "strided = 1e8") -> int:
    """Of communication; the program has one collective, of this kind."""
    (operand,), found, planned = compiled(
        program, read(MACHINE.format(title=title, strided=strided), "m.toml")
    )
    assert operand.startswith(title)
    assert found == pytest.approx(planned, rel=1e-3)
    return found


@pytest.mark.parametrize(
    ("given", "slower"),
    [("f32[64@a, 32, 16]", 1), ("f32[64, 32@a, 16]", 1), ("f32[64, 32, 16@a]", 10)],
)
def test_a_gather_of_columns(given: str, slower: int):
    """Half of 128 KiB goes each way, through one memory."""
    found = nanoseconds(GATHER.format(given=given), "all-gather")
    assert found == pytest.approx(slower * 64 * 32 * 16 * 4, rel=1e-3)
    assert nanoseconds(GATHER.format(given=given), "all-gather", "") == pytest.approx(
        64 * 32 * 16 * 4, rel=1e-3
    )


@pytest.mark.parametrize(("dim", "slower"), [(0, 1), (1, 10)])
def test_a_scatter_of_columns(dim: int, slower: int):
    wanted = ("f32[8@a, 6]", "f32[8, 6@a]")[dim]
    program = f"mesh m[a=2]\ndef main(x: f32[8, 4096@a], y: f32[4096@a, 6]) -> {wanted}:\n    return x @ y"
    found = nanoseconds(program, "reduce-scatter")
    assert found == pytest.approx(slower * 8 * 6 * 4, rel=1e-2)


def test_dimensions_of_one_element_do_not_count():
    assert not is_strided((1, 1, 8), 2)
    assert is_strided((1, 2, 8), 2)
    assert is_strided((4, 2, 1), 1)
    assert not is_strided((4, 2, 8), 0)
    assert not is_strided((4, 2, 8), 1)


def test_a_plan_goes_the_quick_way():
    """Of a product one operand is gathered: rows, where those take a tenth of the time of fewer columns."""
    program = """
mesh m[a=2]

def main(x: f32[64@a, 64], y: f32[64, 60@a]) -> f32[64, 60]:
    return x @ y
"""
    ways = []
    for strided in ("", "strided = 1e7"):
        machine = read(MACHINE.format(title="all-gather", strided=strided), "m.toml")
        ways.append(compiled(program, machine)[0])
    assert ways[0] != ways[1], ways


@pytest.mark.parametrize("strided", ["strided = 0", 'strided = "no"', "strided = -1"])
def test_it_is_a_rate(strided: str):
    with pytest.raises(ShardcError, match="strided is a positive number"):
        read(MACHINE.format(title="all-gather", strided=strided), "m.toml")
