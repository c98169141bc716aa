"""What devices repeat for less than a nanosecond counts where many turns of a loop repeat it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import shardc
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.forms.choice import replicated_choice
from shardc.frontend.text import read
from shardc.graph import Op, TensorType
from shardc.layout import Mesh
from shardc.ops import hlo
from shardc.passes.pipeline import run_to
from shardc.planning.machines import load
from shardc.planning.meshes import mesh_of
from shardc.planning.program.costs.fusion import Traffic
from shardc.planning.program.costs.rates import GRAIN, TURNS, Rates
from shardc.planning.program.problem.setup import setup
from shardc.report.times import timed

NESTED = """
mesh pod[x=8]

def main(a: f32[64@x], b: f32[64@x]) -> (f32[64@x], f32[64@x]):
    for i in range(3) carrying a:
        a = sin(a)
        for j in range(5) carrying a:
            a = tanh(a)
    return a, exp(b)
"""
FILTER = """
mesh pod[p=8]

def main(x: f32[64@p], w: f32[64@p]) -> f32[64@p]:
    for t in range(1000) carrying x:
        c = cumsum(exp(-x * x * w), axis=0)
        x = tanh(x + sum(c) - c)
    return x
"""


@pytest.mark.parametrize(("turns", "parts"), [(1, 0), (TURNS, 0), (40 * TURNS, 40), (10**6, 1000)])
def test_grains_are_of_all_turns(turns: int, parts: int) -> None:
    """A tanh of 64 elements takes a fifth of a nanosecond more than an eighth of them."""
    type, rates = TensorType((64,), "f32"), Rates(load("balanced"), Mesh("m", (("x", 8),)))
    op = Op(hlo.tanh.name, (type,), (type,), {})
    work = rates.work_of(op, Traffic((0,), (0,)), (), turns)
    assert work is not None
    repeated, choice = (
        rates.repeated(work, replicated_choice(op, rates.mesh)),
        replicated_choice(op, rates.mesh),
    )
    exact = (work.seconds_of(rates.machine, choice) - work.seconds(rates.machine) / 8) * 1e15
    assert 0 < exact < GRAIN
    assert repeated == (int(exact * parts / GRAIN) * GRAIN // parts if parts else 0)


def test_loops_in_loops_turn_so_often() -> None:
    module = read(NESTED, "nested.shard")
    run_to(make_context(), module, "sharded")
    graph = snapshot(module).graph
    problem = setup(graph, graph.main, Rates(load("balanced"), mesh_of(graph)))
    turns = {v.node.name: v.work.turns for v in problem.variables if v.work is not None}
    assert (turns[hlo.exponential.name], turns[hlo.sine.name], turns[hlo.tanh.name]) == (1, 3, 15)


def test_work_of_a_loop_is_divided_though_a_turn_is_short() -> None:
    """Two small collectives a turn take less than what devices would repeat in a thousand of them."""
    cost = shardc.cost(FILTER, machine="balanced", tries=0)
    assert cost.time is not None and cost.time.total_ns < 1000  # 1589 where each device does all
    assert [each.times for each in cost.collectives] == [1000, 1000]


def test_what_collectives_take_is_rounded_together() -> None:
    """Each of a thousand takes a few picoseconds, of which none would be left."""
    mesh = Mesh("m", (("x", 8),))
    (sent, *_) = shardc.cost(FILTER, machine="balanced", tries=0).collectives
    found = timed(load("balanced"), mesh, replace(sent, bytes=7, operand_bytes=4))
    assert found.once_ns == 0 < found.total_ns < 1000
