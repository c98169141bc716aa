"""Planning for the least modelled time: work is divided where that is quicker, repeated work is told of."""

from __future__ import annotations

import pytest

import shardc
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.show import plan_text
from shardc.frontend.read import read as read_program
from shardc.graph import Node, Op, TensorType
from shardc.graph.marks import TIMES
from shardc.ops import hlo, op_of
from shardc.options import Options
from shardc.passes.pipeline import PASSES, run_to
from shardc.planning.machines import load, shipped
from shardc.planning.program import Plan, plan_program
from shardc.planning.program.costs.fusion import moved, traffic

PAIRS = """
mesh m[x=8]

def main(p: f32[{n}@x]) -> f32[{n}@x]:
    for t in range(100) carrying p:
        p = p + sum(tanh(p[None, :] - p[:, None]), axis=1)
    return p
"""


def planned(text: str, machine: str) -> Plan:
    with collecting():
        module = read_program(text, Options(file="prog.shard"))
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
    assert time is not None and time.twice_fs == 0  # each device reads all points, for rows of its own
    assert time.repeated_fs * 100 < time.total_fs


@pytest.mark.parametrize("machine", shipped())
@pytest.mark.parametrize("axes", ["x=1", "x=1, y=1"])
def test_one_device_sends_nothing(machine: str, axes: str) -> None:
    assert planned(PAIRS.format(n=512).replace("x=8", axes), machine).bytes == 0


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
    (message,) = [each.message for each in said if "devices repeat" in each.message]
    count = len(less.operations)
    assert f" and {count - 1} more operations could" in message
    node = less.operations[-1].variable.node
    node.attrs = {**node.attrs, TIMES: 5}  # where layers were taken out of the program
    with collecting() as said:
        plan.warn()
    assert any(f" and {count + 3} more operations could" in each.message for each in said)


GRAM = """
mesh m[x=8]

def main(v: f32[{n}@x, 16]) -> f32[16, 16]:
    return transpose(v) @ v
"""


@pytest.mark.parametrize(
    ("machine", "n", "repeated"),
    [
        ("balanced", 256, False),  # 1.8 KiB for 14, and people who expect the peer's matmuls
        ("h100-infiniband", 256, True),  # a gather takes half as long as a sum
        ("h100-infiniband", 1 << 20, False),
    ],
)
def test_a_small_product_is_repeated_where_that_is_quicker(machine: str, n: int, repeated: bool) -> None:
    plan = planned(GRAM.format(n=n), machine)
    (product,) = [v for v in plan.problem.variables if v.node.name == hlo.dot_general.name]
    assert (product.choice.parts == 1) is repeated
    less = plan.less_divided()
    assert (less is not None) is repeated
    assert less is None or less.repeated_fs < less.saved_fs


def test_the_bound_meets_the_plan() -> None:
    plan = planned(PAIRS.format(n=4096), "balanced")
    proof, time = plan.proof(), plan.time
    assert proof is not None and time is not None
    assert proof.ticks == time.communication_fs + time.repeated_fs


@pytest.mark.parametrize(
    ("body", "read", "written"),
    [
        (
            "z = sum(tanh(x[:, 0]) + x, axis=0)\n    return z @ z",
            ["add", "dot_general"],
            ["reduce", "dot_general"],
        ),
        ("return concatenate([x[1:], x[:1]]) + pad(x[1:], ((1, 0), (0, 0))) * x", ["multiply"], ["add"]),
        ("a, b = split(x, 2)\n    return tanh(a) + b", ["slice", "slice"], ["add"]),
        ("return reshape(x, (4096,)), reshape(tanh(y), (4096,))", ["tanh"], ["tanh"]),
        ("return broadcast_to(x, (1, 64, 64)), broadcast_to(tanh(y), (1, 64, 64))", ["tanh"], ["tanh"]),
        (
            "z = tanh(x)\n    return reshape(z, (4096,)), z * y",
            ["tanh", "multiply", "multiply"],
            ["tanh", "multiply"],
        ),
        ("return tanh(reshape(tanh(x), (4096,)))", ["tanh"], ["tanh"]),
        (
            "z = maximum(x, 0)\n    return z, sum(abs(z), axis=0), minimum(z, y)",
            ["maximum", "abs", "minimum", "minimum"],
            ["maximum", "reduce", "minimum"],
        ),
        ("t = x.T\n    return tanh(t), t * y", ["transpose", "transpose", "multiply"], ["tanh", "multiply"]),
        ("t = tanh(x).T\n    return t * 2, sum(t, axis=0)", ["tanh"], ["multiply", "reduce"]),
        ("t = x.T\n    return tanh(t) + t * y", ["transpose", "multiply"], ["add"]),
        (
            "o = ones((64, 64))\n    return o @ x, y + o",
            ["dot_general", "dot_general", "add"],
            ["constant", "dot_general", "add"],
        ),
        ("return tanh(x[:8]) @ y", ["slice", "dot_general", "dot_general"], ["tanh", "dot_general"]),
        ("return x.T[:8] @ y[:, 8:]", ["dot_general", "dot_general"], ["dot_general"]),
        ("return tanh(x)[:8] @ y", ["tanh", "dot_general", "dot_general"], ["slice", "dot_general"]),
        (
            "s = x[:8]\n    return s @ y, tanh(s)",
            ["slice", "dot_general", "dot_general", "tanh"],
            ["slice", "dot_general", "tanh"],
        ),
        ("return dynamic_update_slice(x, tanh(y[:8]), (0, 0))", ["slice"], ["dynamic_update_slice"]),
        (
            "return dynamic_update_slice(zeros((64, 64)), tanh(y[:8]), (0, 0))",
            ["slice"],
            ["constant", "dynamic_update_slice"],
        ),
    ],
)
def test_a_chain_is_not_in_memory(body: str, read: list[str], written: list[str]) -> None:
    """Names of the operations that read an operand, for each, and that write their result."""
    with collecting():
        text = f"def main(x: f32[64, 64], y: f32[64, 64]):\n    {body}"
        graph = snapshot(read_program(text, Options(file="prog.shard"))).graph
    users: dict[int, list[Node]] = {}
    for node in graph.main.body.nodes:
        for value in node.operands:
            users.setdefault(value, []).append(node)
    nodes = graph.main.body.nodes[:-1]
    found = traffic(((node, op_of(graph, node)) for node in nodes), users)
    named = [(node.name.partition(".")[2], found[node.id]) for node in nodes]
    assert [name for name, of in named for _ in of.reads] == read
    assert [name for name, of in named for _ in of.writes] == written


def test_rows_that_come_again_are_read_once() -> None:
    """A table of 16 rows is smaller than 4096 rows of it, taken or added."""
    table, rows = TensorType((16, 64), "f32"), TensorType((4096, 64), "f32")
    places = TensorType((4096, 1), "i32")
    taken = Op(hlo.gather.name, (table, places), (rows,), {})
    added = Op(hlo.scatter.name, (table, places, rows), (table,), {}, "add")
    assert moved(taken) == ((table.nbytes, places.nbytes), (rows.nbytes,))
    assert moved(added) == ((table.nbytes, places.nbytes, rows.nbytes), (table.nbytes,))


CHOSEN = """
mesh m[v=4]
size B = 256, V = 32768

def main(y: i32[B], e: f32[B, V@v]) -> f32[B, V@v]:
    g = zeros((B, V)).at[arange(B), y].add(-1.0)
    return g - sum(g, axis=1)[:, None] * e
"""


@pytest.mark.parametrize("machine", ["balanced", "h100-infiniband", "tpu-v5e"])
def test_zeros_that_are_written_are_divided(machine: str) -> None:
    """The gradient of a choice from a vocabulary: a sum over it sends twice what rows that are gathered do,
    and spares each device 32 MiB of zeros."""
    plan = planned(CHOSEN, machine)
    (scatter,) = [v for v in plan.problem.variables if v.node.name == hlo.scatter.name]
    assert scatter.work is not None and 0 in dict(scatter.work.made)
    assert scatter.choice.operands[0].local_shape((256, 32768)) == (256, 8192)
    assert plan.less_divided() is None


TIED = """
mesh m[data=8]

def main(p: {dtype}[64, 64], x: {dtype}[4096@data, 64], d: {dtype}[4096@data, 64]) -> {dtype}[64, 64]:
    g = transpose(x) @ d + transpose(d) @ x
    return p - 0.125 * g
"""


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("machine", ["balanced", "h100-infiniband", "tpu-v5e"])
def test_a_narrow_weight_is_not_added_to_the_sums_of_its_gradient(machine: str, dtype: str) -> None:
    """The gradient is a chain of two sums, which need not be in memory if the update is what is reduced."""
    plan = planned(TIED.format(dtype=dtype), machine)
    (step,) = [v for v in plan.problem.variables if v.node.name == hlo.subtract.name]
    assert not any(layout.unreduced for layout in (*step.choice.operands, *step.choice.results))


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
