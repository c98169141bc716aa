"""What is shown without a solver is what the solver finds, and small programs import none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.frontend.text import read
from shardc.passes.pipeline import run_to
from shardc.planning.program import exact, improve

ROOT = Path(__file__).parents[3]

CHEAPEST = {
    "an all-reduce": """
mesh pod[data=2, model=4]

def main(x: f32[32@data, 64], w1: f32[64, 256@model], w2: f32[256@model, 64]) -> f32[32@data, 64]:
    return relu(x @ w1) @ w2
""",
    "two uses": """
mesh ring[x=4]

def main(a: f32[16@x, 16], w: f32[16, 16@x]) -> (f32[16, 16@x], f32[16@x]):
    h = tanh(a)
    return h @ w, sum(h, axis=1)
""",
    "in a mesh of two axes": """
mesh m[x=2, y=2]

def main(a: f32[16@x, 16@y], b: f32[16@y, 16]) -> f32[16@x, 16]:
    return exp(a @ b)
""",
}

CHEAPER = {
    "the product is exchanged": """
mesh m[x=4]

def main(a: f32[16@x, 32], w: f32[32, 16]) -> (f32[16@x, 16], f32[16, 16@x]):
    y = a @ w
    return y, tanh(y)
""",
    "copies of copies": """
mesh m[x=2, y=2]

def main(a: f32[16, 16@y], b: f32[16@(y, x), 16], c: f32[16@(x, y), 16]) -> f32[16, 16@x]:
    h = a * b
    return (transpose(h) @ h) @ c
""",
}


def shown(text, monkeypatch):
    """For each time that a plan is proved best: whether it is shown, and whether the solver leaves it."""
    found = []

    def perfect(problem):
        before, answers = problem.total(), []

        def nothing_cheaper(net, known):
            answers.append(SHOW(net, known))
            return False

        monkeypatch.setattr(exact, "nothing_cheaper", nothing_cheaper)
        choices = [variable.choice for variable in problem.variables]
        PERFECT(problem)
        same = choices == [variable.choice for variable in problem.variables]
        found.extend((answer, same, problem.proof.ticks == before[0]) for answer in answers)

    monkeypatch.setattr(improve, "perfect", perfect)
    with collecting():
        run_to(make_context(), read(text, "prog.shard", {}, None), "collectives")
    return found


SHOW, PERFECT = exact.nothing_cheaper, exact.perfect


@pytest.mark.parametrize("text", [*CHEAPEST.values()], ids=[*CHEAPEST])
def test_the_cheapest_plan_is_shown_to_be(text, monkeypatch):
    assert (True, True, True) in shown(text, monkeypatch)


@pytest.mark.parametrize("text", [*CHEAPEST.values(), *CHEAPER.values()], ids=[*CHEAPEST, *CHEAPER])
def test_the_solver_leaves_what_is_shown(text, monkeypatch):
    found = shown(text, monkeypatch)
    assert found
    assert all(same and bound for answer, same, bound in found if answer)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests/e2e/programs").glob("*.shard"))[::7], ids=lambda p: p.stem
)
def test_the_solver_leaves_what_is_shown_of_whole_programs(path, monkeypatch):
    found = shown(path.read_text("utf-8"), monkeypatch)
    assert all(same and bound for answer, same, bound in found if answer)


def test_a_limit_above_the_best_is_not_shown(monkeypatch):
    """One tick more than the plan costs, and the plan itself is cheaper."""
    answers = []

    def nothing_cheaper(net, known):
        answers.append((SHOW(net, known), SHOW(net, (known[0] + 1, *known[1:]))))
        return answers[-1][0]

    monkeypatch.setattr(exact, "nothing_cheaper", nothing_cheaper)
    with collecting():
        run_to(make_context(), read(CHEAPEST["an all-reduce"], "prog.shard", {}, None), "collectives")
    assert answers == [(True, False)] * 2  # in propagation's own layouts, and in all


def test_a_small_program_imports_no_solver(tmp_path):
    program = tmp_path / "prog.shard"
    program.write_text(CHEAPEST["an all-reduce"], "utf-8")
    code = (
        "import sys; from shardc.cli.shardc import main; "
        f"main([{str(program)!r}, '--no-cache', '-o', {str(tmp_path / 'out.py')!r}]); "
        "print([name for name in sys.modules if name.partition('.')[0] in ('scipy', 'jax', 'onnx')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
        cwd=ROOT,
    )
    assert done.stdout == "[]\n"
