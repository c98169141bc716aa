"""What is made before all products of a program, after them and between, and what its collectives pay."""

from __future__ import annotations

from shardc.analysis.phases import AFTER, BEFORE, BETWEEN, Context, phases
from shardc.graph import Graph, Region
from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.machines import Combined, load
from shardc.planning.program import Counted, plan_program
from shardc.planning.program.costs.rates import Rates
from tests.unit.planning.test_search import propagated

STEP = """
mesh pod[data=8]

def main(x: f32[64@data, 256], v: f32[256@data, 256], w: f32[256, 256@data]) -> (f32[256, 256], f32[256]):
    y = relu(x) + 1
    h = relu(y @ v)
    return tanh(w - h.T @ (h * 2)), sum(h, axis=0) * 3
"""

LOOP = """
mesh pod[x=4]

def main(a: f32[64@x, 64], b: f32[64, 64]) -> f32[64, 64]:
    c = b * 2
    for t in range(5) carrying a:
        a = (a * 3) @ c + 1
    return a - 1
"""


def made(graph: Graph, region: Region) -> list[tuple[str, str]]:
    found = phases(region)
    return [(node.name.split(".")[-1], found[value]) for node in region.nodes for value in node.results]


def test_products_stand_between() -> None:
    graph = propagated(STEP, "prog.shard")
    region = graph.main.body
    found = dict.fromkeys(made(graph, region))
    assert {found_phase for value, found_phase in phases(region).items() if value in region.args} == {BEFORE}
    assert [each for each in found if each[0] == "dot_general"] == [
        ("dot_general", BETWEEN),
        ("dot_general", AFTER),
    ]
    assert ("add", BEFORE) in found and ("tanh", AFTER) in found and ("reduce", AFTER) in found
    assert ("transpose", BETWEEN) in found and ("transpose", AFTER) not in found


CLIPPED = """
mesh pod[data=8]

def main(x: f32[64@data, 256], w: f32[256, 256]) -> f32[256, 256]:
    y = x - mean(x, axis=1)[:, None]
    g = y.T @ (y @ w)
    return w - g / sqrt(sum(g * g))
"""


def test_a_reduction_is_made_when_its_operand_is() -> None:
    """Gradients wait for no product, also where a norm of them is taken; so do data that are normalized."""
    graph = propagated(CLIPPED, "prog.shard")
    found = made(graph, graph.main.body)
    assert [phase for name, phase in found if name == "reduce"] == [BEFORE, AFTER]
    assert [phase for name, phase in found if name == "dot_general"] == [BETWEEN, AFTER]


def test_a_loop_has_its_own_start_and_end() -> None:
    """What it takes is made before it, and used by its products; what it gives is made after them."""
    graph = propagated(LOOP, "prog.shard")
    region = graph.main.body
    (loop,) = [node for node in region.nodes if node.regions]
    outer = dict(made(graph, region))
    assert outer["while"] == outer["subtract"] == AFTER and outer["multiply"] == BEFORE
    inner = dict(made(graph, loop.regions[1]))
    assert inner["dot_general"] == AFTER and inner["multiply"] == BEFORE


def test_a_collective_pays_what_those_of_its_phase_pay() -> None:
    graph = propagated(STEP, "prog.shard")
    mesh = Mesh("pod", (("data", 8),))
    axis = mesh.axis("data")
    split, whole = Sharding(mesh, (Dim((axis,)), Dim())), Sharding(mesh, (Dim(), Dim()))
    type = graph.type(graph.main.body.args[1])

    def ticks(phase, *shares: Combined) -> int:
        rates = Rates(load("h100-infiniband"), mesh, shares)
        return rates.copies(type, split, (whole,), Context(phase=phase))[0]

    early = Combined("all-gather", ("data",), 8, 1, BEFORE)
    alone, some = ticks(BEFORE), ticks(BEFORE, Combined("all-gather", ("data",), 8, 1))
    assert ticks(BETWEEN, early) == ticks(AFTER, early) == alone
    assert ticks(BEFORE, early) == some < alone
    assert ticks(AFTER, early, early._replace(phase=None)) == some


def test_gathers_of_arguments_are_made_where_they_become_one() -> None:
    """One of activations would be as quick, were it taken for one of them."""
    graph, machine = propagated(STEP, "prog.shard"), load("h100-infiniband")
    assert not plan_program(graph, machine=machine).problem.contexts
    everywhere = Combined("all-gather", ("data",), 16, 1)
    assert not plan_program(graph, machine=machine, counted=(Counted((everywhere,)),)).problem.contexts
    early = everywhere._replace(phase=BEFORE)
    problem = plan_program(graph, machine=machine, counted=(Counted((early,)),)).problem
    x, v, _ = graph.main.body.args
    assert problem.context(x) == problem.context(v) == Context(phase=BEFORE)
    gathered = [value for value in problem.values if problem.needs(value)]
    assert any(problem.context(value).phase == BEFORE for value in gathered)
