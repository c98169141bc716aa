"""Planning for the least modelled time: work is divided where that is quicker, repeated work is told of."""

from __future__ import annotations

import pytest

import shardc
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.show import plan_text
from shardc.frontend.read import read
from shardc.graph import Node
from shardc.ops import hlo
from shardc.options import Options
from shardc.passes.pipeline import PASSES, run_to
from shardc.planning.machines import load
from shardc.planning.program import Plan, plan_program
from shardc.planning.program.fusion import traffic

PAIRS = """
mesh m[x=8]

def main(p: f32[{n}@x]) -> f32[{n}@x]:
    for t in range(100) carrying p:
        p = p + sum(tanh(p[None, :] - p[:, None]), axis=1)
    return p
"""


def planned(text: str, machine: str) -> Plan:
    with collecting():
        module = read(text, Options(file="prog.shard"))
        run_to(make_context(), module, "sharded")
        for name in ("require-rules", "join-slices", "reduce-in-shape"):
            PASSES[name]()().apply(make_context(), module)
        return plan_program(snapshot(module).graph, machine=load(machine))


@pytest.mark.parametrize("machine", ["balanced", "h100-infiniband", "tpu-v5e", "tpu-v4p"])
def test_all_pairs_are_divided(machine: str) -> None:
    plan = planned(PAIRS.format(n=65536), machine)
    assert plan.collectives == 100  # one all-gather of the points a turn
    assert plan.less_divided() is None
    time = plan.time
    assert time is not None and time.repeated_fs * 1000 < time.total_fs


def test_least_bytes_repeat_the_work() -> None:
    plan = planned(PAIRS.format(n=65536), "bytes")
    assert (plan.bytes, plan.collectives, plan.time) == (65536 * 4 * 7 // 8, 1, None)


def test_few_pairs_are_repeated_and_told() -> None:
    plan = planned(PAIRS.format(n=512), "h100-infiniband")
    assert plan.collectives == 1  # the latency of a hundred gathers is longer than all the work
    less = plan.less_divided()
    assert less is not None and less.repeated_fs < less.saved_fs
    with collecting() as said:
        plan.warn()
    assert any("devices repeat" in each.message for each in said)


def test_the_bound_meets_the_plan() -> None:
    plan = planned(PAIRS.format(n=4096), "balanced")
    proof, time = plan.proof(), plan.time
    assert proof is not None and time is not None
    assert proof.ticks == time.communication_fs + time.repeated_fs


def test_a_chain_is_not_in_memory() -> None:
    nodes = [
        Node(0, hlo.broadcast_in_dim.name, (0,), (1,), {}),
        Node(1, hlo.tanh.name, (1,), (2,), {}),
        Node(2, hlo.add.name, (2, 0), (3,), {}),
        Node(3, hlo.reduce.name, (3, 9), (4,), {}),
        Node(4, hlo.dot_general.name, (4, 4), (5,), {}),
    ]
    users: dict[int, list[Node]] = {}
    for node in nodes:
        for value in node.operands:
            users.setdefault(value, []).append(node)
    found = traffic(nodes, users)
    assert [found[i].reads for i in range(5)] == [(0,), (), (), (1,), (0,)]
    assert [found[i].writes for i in range(5)] == [(), (), (), (0,), (0,)]


THREE_USES = """
mesh m[x=2, y=4]

def main(
    a: f32[32@(y, x), 8], b: f32[32@x, 16@y], c: f32[16, 16@y], d: f32[16, 16@x]
) -> (f32[8@x, 16@y], f32[8, 16@y], f32[8@x, 16]):
    h = transpose(a) @ b
    return -h, h @ c, h @ d
"""


def test_more_collectives_than_expected_must_pay() -> None:
    """In propagation's layouts 7 collectives do; the quickest plan has 10, for a sixth of the time."""
    problem = planned(THREE_USES, "balanced").problem
    expected, refused = problem.modest, problem.refused
    assert expected is not None and refused is not None
    assert (expected[1], refused[1]) == (7, 10)
    assert 3 * expected[0] < 4 * refused[0] < 4 * expected[0]
    assert problem.total()[0] < expected[0] and problem.total()[1] == 7
    assert problem.proof is not None and problem.proof.ticks < problem.total()[0]  # of the least plan


def test_latency_says_how_many_collectives_pay() -> None:
    plan = planned(THREE_USES, "h100-infiniband")
    assert plan.refused is None and plan.problem.modest is None


def test_the_report_says_what_was_left() -> None:
    report = shardc.explain(THREE_USES, machine="balanced").plan
    assert report is not None
    first, second = plan_text(report).splitlines()
    assert " in 7 collectives, " in first and " on balanced: no plan is quicker than " in first
    assert second.startswith("a plan of ") and " in 10 collectives is left: " in second
