"""Plans that only the whole graph shows, and what is known of them."""

from pathlib import Path

import numpy as np
import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.passes.pipeline import PASSES, run_to
from shardc.planning.machines import load
from shardc.planning.program import plan_program
from shardc.planning.program.costs.bounds import Bounds
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.integer import highs
from shardc.planning.program.integer.building import network
from shardc.planning.program.integer.choices import every
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.integer.network import Network
from shardc.planning.program.integer.solve import RELAXED
from shardc.planning.program.integer.solver import solve
from shardc.planning.program.search import exact
from shardc.planning.program.search.exact import (
    ASSIGNMENTS,
    PAIRS,
    atoms_of_program,
    groups_of_program,
    whole,
)
from tests.unit.planning.test_together import problem_of

PROGRAMS = Path(__file__).parents[2] / "e2e/programs"


def planned(text, machine="bytes"):
    with collecting():
        module = read(text, "prog.shard", {}, None)
        run_to(make_context(), module, "sharded")
        for name in ("require-rules", "join-slices"):
            PASSES[name]()().apply(make_context(), module)
        problem = plan_program(snapshot(module).graph, machine=load(machine)).problem
    return problem


def arcs_of(net):
    """The copies that a program may make, by column."""
    assert net is not None
    return {column: move.arc(column) for move in net.moves for column in range(move.first, move.end)}


LOOP = """
mesh m[x=4]

def main(x: f32[8@x, 16]) -> f32[8@x, 16]:
    y = x
    for i in range(6) carrying y:
        y = y - sum(y, axis=0, keepdims=True)
    return y
"""


def test_a_loop_carries_what_its_body_wants():
    """Six all-reduces of a row would be 6 * 96 bytes; two all-to-alls around the loop are 2 * 96."""
    problem = planned(LOOP)
    assert problem.total()[:2] == (192, 2)
    assert problem.proof is not None and problem.proof.ticks == 192


def test_results_that_are_split_otherwise():
    """The product is made once and exchanged for its other use."""
    problem = planned(
        """
mesh m[x=4]

def main(a: f32[16@x, 32], w: f32[32, 16]) -> (f32[16@x, 16], f32[16, 16@x]):
    y = a @ w
    return y, tanh(y)
"""
    )
    assert problem.total()[:2] == (192, 1)


def test_copies_of_copies():
    """Three layouts of one value, of which the third comes from the second."""
    problem = planned(
        """
mesh m[x=2, y=2]

def main(a: f32[16, 16@y], b: f32[16@(y, x), 16], c: f32[16@(x, y), 16]) -> f32[16, 16@x]:
    h = a * b
    return (transpose(h) @ h) @ c
"""
    )
    assert problem.proof is not None and problem.proof.ticks == 1472
    assert problem.total()[:2] == (1472, 6)


def test_more_collectives_must_save_a_quarter():
    """1216 bytes would take 10 collectives, 1248 would take 9."""
    problem = planned(
        """
mesh m[x=2, y=4]

def main(
    a: f32[32@(y, x), 8], b: f32[32@x, 16@y], c: f32[16, 16@y], d: f32[16, 16@x]
) -> (f32[8@x, 16@y], f32[8, 16@y], f32[8@x, 16]):
    h = transpose(a) @ b
    return -h, h @ c, h @ d
"""
    )
    assert problem.proof is not None and problem.proof.ticks == 1216
    assert problem.total()[:2] == (1280, 8)


def test_what_annotations_alone_ask_for_is_in_the_bound():
    """An argument goes from rows to columns by annotation, whatever is chosen; then it is summed."""
    problem = planned(
        """
mesh m[x=4]

def main(a: f32[16@x, 16]) -> f32[16, 1]:
    b: f32[16, 16@x] = a
    return sum(b, axis=1, keepdims=True)
"""
    )
    assert problem.proof is not None and problem.proof.ticks == problem.total()[0] == 192 + 96


def test_prices_are_found_with_those_of_other_copies():
    """A copy that costs more than was known: those that could be made in its place are priced with it, if
    they may cost less over parts of axes."""
    problem = planned(
        """
mesh m[x=8, y=16]

def main(a: f32[128@x, 128@y], w: f32[128@y, 128]) -> f32[128, 128@y]:
    return tanh(a @ w)
""",
        "h100-infiniband",
    )
    net = whole(problem)
    assert net is not None
    arcs = arcs_of(net)
    assert len(arcs) > 2
    before = Prices(net.prices.atoms, problem.rates)
    together = set[bool]()
    for column, (made, source, target) in arcs.items():
        used, known = np.zeros(len(net.integral)), set(net.prices.exact)
        used[column] = 1
        if net.settle(used):
            others = net.prices.exact - known - {(made.type, source, target, made.context)}
            assert all(before.may_spare(0, *key) for key in others)
            together.add(bool(others))
    assert True in together


def test_copies_that_no_plan_comes_to_are_not_priced():
    """Where one copy costs more than was known, no plan pays more than that for another one in its place."""
    problem = planned(
        """
mesh m[x=8, y=16]

def main(a: f32[8@x, 128@y], w: f32[128@y, 8]) -> f32[8, 8]:
    return tanh(a @ w)
""",
        "balanced",
    )
    others = {0.0: 0, 1e18: 0}
    for less in others:
        for column in arcs_of(whole(problem)):
            problem.priced.clear()
            net = whole(problem)
            assert net is not None
            used = np.zeros(len(net.integral))
            used[column] = 1
            net.settle(used, np.full(len(used), less))
            others[less] += len(net.prices.exact) - 1
    assert others[1e18] == 0 < others[0.0]


def test_copies_of_a_value_are_priced_together(monkeypatch):
    """So are those of all values, whatever their sizes are."""
    text = """
mesh m[x=2, y=4]

def main(a: f32[64@x, 64], w: f32[64, 128@y], v: f32[128@y, 64]) -> f32[64@x, 64]:
    return tanh(a @ w) @ v
"""
    problem, asked = planned(text, "h100-infiniband"), list[int]()
    of = Bounds.of

    def counted(bounds, some):
        asked.append(sum(len(each.rows) for each in some))
        return of(bounds, some)

    monkeypatch.setattr(Bounds, "of", counted)
    problem.priced.clear()
    net = whole(problem)
    assert net is not None and len(net.moves) > 4 * len(problem.values)
    assert asked[0] > 4 * len(problem.values) and not any(asked[1:])


def test_what_a_solution_uses_of_copies():
    problem = planned(AXES.format(axes="a=2, b=4"), "h100-infiniband")
    net, draw = whole(problem), np.random.default_rng(0)
    assert net is not None
    columns = np.flatnonzero(draw.random(len(net.integral)) < 0.3)
    found = [(move, column) for move in net.moves for column in columns if move.first <= column < move.end]
    assert len(found) > 5 and [*net._copied(columns)] == found


AXES = """
mesh m[{axes}]

def main(x: f32[256@a, 512]) -> f32[256, 512@b]:
    return tanh(relu(x))
"""


def test_so_many_pairs_of_layouts_are_priced_on_meshes_of_many_axes():
    """Of up to four axes all are in a table; of more each takes a while."""

    def built(axes: str) -> Network:
        types = "x: f32[256@a, 512@c]", "f32[256@d, 512@b]"
        text = AXES.replace("x: f32[256@a, 512]", types[0]).replace("f32[256, 512@b]", types[1])
        problem = planned(text.format(axes=", ".join(f"{axis}=2" for axis in axes)))
        groups = groups_of_program(problem)
        prices = problem.prices(atoms_of_program(problem, groups))
        return network(problem, every(problem, groups, ASSIGNMENTS), prices, pairs=PAIRS * RELAXED)

    assert built("abcd")
    with pytest.raises(TooMany):
        built("abcde")


NEWTON_SCHULZ = """
mesh m[data=2, model=4]

def main(x: f32[16@data, 32@model]) -> f32[16@data, 32@model]:
    a = x @ x.T
    return 3.4445 * x + (2.0315 * (a @ a) - 4.775 * a) @ x
"""


def test_a_loose_program_is_solved_for_what_is_nearly_used(monkeypatch):
    """Products with a transpose: no fraction of a plan is a plan, and with all columns it takes seconds."""
    tried = []

    def counted(costs, sums, integral, *rest, only=None, **more):
        if integral is not None:
            tried.append(len(costs) if only is None else int(only.sum()))
        return solve(costs, sums, integral, *rest, only=only, **more)

    monkeypatch.setattr(highs, "solve", counted)
    problem = planned(NEWTON_SCHULZ, "balanced")
    assert problem.proof is not None
    columns = int(problem.proof.method.removeprefix("linear program of ").removesuffix(" columns"))
    assert highs.WHOLE < columns and 0 < max(tried) < columns / 2
    assert problem.proof.ticks < problem.total()[0] <= 1.15 * problem.proof.ticks


@pytest.mark.parametrize("name", ["dtypes", "partial_types", "slices", "uneven_reductions", "x64"])
def test_what_is_nearly_used_makes_as_good_a_plan(name, monkeypatch):
    """Of programs whose linear programs are not exact."""
    text = (PROGRAMS / f"{name}.shard").read_text()
    best = planned(text, "balanced").total()
    monkeypatch.setattr(highs, "WHOLE", 0)
    assert planned(text, "balanced").total()[0] <= 1.01 * best[0]


APART = """mesh m[a=2, b=2, c=2, d=2, e=2]

def main(x: f32[8@a, 2@b], y: f32[8@c, 2@d], z: f32[8@e, 2]) -> f32[2, 8]:
    return tanh(sin(x + y + z).T)
"""


@pytest.mark.parametrize("pairs", [3, 30])
def test_too_many_pairs_of_layouts_are_seen_before_one_is_priced(pairs, monkeypatch):
    """Each sum may be laid out in 291 ways, and so may its transpose: more pairs than three for each of
    40,000 columns, fewer than thirty."""
    asked = []
    table = Prices.table

    def counted(self, *given, **how):
        asked.append(given)
        return table(self, *given, **how)

    monkeypatch.setattr(Prices, "table", counted)
    monkeypatch.setattr(exact, "PAIRS", pairs)
    found = whole(problem_of(APART))
    assert bool(asked) == (pairs == 30)
    assert found is None
