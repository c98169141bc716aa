"""Equal operations in equal surroundings are planned as one, at exactly the same cost."""

from __future__ import annotations

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.passes.pipeline import PASSES, STAGES
from shardc.planning.machines import load
from shardc.planning.meshes import mesh_of
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.setup import setup
from shardc.planning.program.search.improve import search
from shardc.planning.program.search.repeats import Repeats, repeats_of

LAYERS = 40


def chain(layers: int) -> Problem:
    """Layers of two products, the second over a split dimension."""
    body = "".join(f"    x = tanh(relu(x @ a{i}) @ b{i})\n" for i in range(layers))
    weights = "".join(f", a{i}: f32[16, 64@m], b{i}: f32[64@m, 16]" for i in range(layers))
    return _problem(f"main(x: f32[8@d, 16]{weights}) -> f32[8@d, 16]:\n{body}    return x\n")


def updates(count: int) -> Problem:
    """As many weights, each of which comes back changed by what is a partial sum."""
    weights = "".join(f", w{i}: f32[16, 16]" for i in range(count))
    types = ", ".join(["f32[16, 16]"] * count)
    changed = ", ".join(f"w{i} - 0.1 * relu(x.T @ sin(y * {i}.0))" for i in range(count))
    return _problem(f"main(x: f32[8@d, 16], y: f32[8@d, 16]{weights}) -> ({types}):\n    return {changed}\n")


def _problem(main: str) -> Problem:
    text = f"mesh pod[d=2, m=4]\n\ndef {main}"
    from shardc.dialects.context import make_context

    module, context = read(text, "chain.shard"), make_context()
    for stage in ("sharded",):
        for name in STAGES[stage]:
            PASSES[name]()().apply(context, module)
    graph = snapshot(module).graph
    return setup(graph, graph.main, Rates(load("bytes"), mesh_of(graph)))


def test_classes_cost_what_their_members_do() -> None:
    problem = chain(LAYERS)
    repeats = Repeats(problem, {})
    assert len(repeats.problem.variables) < len(problem.variables) // 2
    assert repeats.problem.total()[:4] == problem.total()[:4]
    search(repeats.problem)
    repeats.write_back()
    assert repeats.problem.total()[:4] == problem.total()[:4]
    assert problem.total()[1] == LAYERS  # one all-reduce in each


def test_classes_know_the_prices_that_the_program_knows() -> None:
    problem = chain(LAYERS)
    repeats = Repeats(problem, {})
    search(repeats.problem)
    assert problem.priced and all(prices.known for prices in problem.priced.values())


def test_results_of_one_layout_are_alike() -> None:
    problem = updates(LAYERS)
    repeats = Repeats(problem, {})
    alike = [v for v in problem.variables if v.node.name == "stablehlo.subtract"]
    assert len({repeats.class_of[v] for v in alike}) == 1
    assert repeats.problem.total()[:4] == problem.total()[:4]


def test_few_operations_are_planned_one_by_one() -> None:
    assert repeats_of(chain(3)) is None
