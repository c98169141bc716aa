"""Programs that are too large to be solved whole are improved one mesh axis after the other."""

import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.forms.choice import Ways
from shardc.frontend.text import read
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.passes.pipeline import PASSES, run_to
from shardc.planning.machines import load
from shardc.planning.program import plan_program
from shardc.planning.program.integer.choices import every, without
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.problem.variables import Proof
from shardc.planning.program.search import by_axis, exact, improve
from shardc.planning.program.search.saved import SavedChoices

# the loop is cheaper where rows are exchanged for columns over y before and after it
LOOP = """
mesh m[x=2, y=4]

def main(x: f32[16@(x, y), 32]) -> f32[16@(x, y), 32]:
    h = x
    for i in range(6) carrying h:
        h = h - sum(h, axis=0, keepdims=True)
    return h
"""

STEP = """
mesh m[x=2, y=4]

def main(a: f32[64@x, 64], w: f32[64, 128@y], v: f32[128@y, 64]) -> (f32[64@x, 64], f32[128@y]):
    h = tanh(a @ w)
    return h @ v, sum(h, axis=0)
"""


def planned(text, machine="bytes"):
    with collecting():
        module = read(text, "prog.shard", {}, None)
        run_to(make_context(), module, "sharded")
        for name in ("require-rules", "join-slices"):
            PASSES[name]()().apply(make_context(), module)
        return plan_program(snapshot(module).graph, machine=load(machine)).problem


@pytest.fixture
def too_large(monkeypatch):
    """No program is solved whole in all layouts."""
    solved = exact.whole
    monkeypatch.setattr(exact, "whole", lambda p, *rest: solved(p, *rest) if p.expected else None)


@pytest.mark.parametrize("text", [LOOP, STEP], ids=["a loop", "a layer"])
def test_as_good_as_the_whole_program(text, monkeypatch, request):
    best = planned(text)
    assert best.proof is not None and best.proof.ticks == best.total()[0]
    request.getfixturevalue("too_large")
    problem = planned(text)
    assert problem.proof is None
    assert problem.total()[:2] == best.total()[:2]


def test_an_axis_at_a_time_is_what_finds_it(too_large, monkeypatch):
    """Without it the loop reduces in each turn."""
    found = planned(LOOP).total()[0]
    monkeypatch.setattr(by_axis, "WORK", 0)
    assert planned(LOOP).total()[0] > found


@pytest.mark.parametrize(("machine", "work"), [("balanced", by_axis.WORK), ("h100-infiniband", by_axis.LATE)])
def test_with_latency_more_is_solved(too_large, monkeypatch, machine, work):
    given, solve = [], by_axis.take_cheapest
    monkeypatch.setattr(
        by_axis, "take_cheapest", lambda net, **how: given.append(how["work"]) or solve(net, **how)
    )
    planned(LOOP, machine)
    assert given[0] == work


@pytest.mark.parametrize("machine", ["bytes", "h100-infiniband"])
@pytest.mark.parametrize("text", [LOOP, STEP], ids=["a loop", "a layer"])
def test_the_axis_that_gains_most_comes_first(too_large, monkeypatch, text, machine):
    """Each is tried from the plan at hand; where little work is left, the first one is taken."""
    found, given = [], by_axis.by_axis

    def first(problem):
        begun, least = SavedChoices(problem), []
        for axes in (turns := by_axis._Search.of(problem).groups.apart()):
            assert by_axis._Search.of(problem).free(axes)
            least.append(problem.total())
            begun.restore()
        search = by_axis._Search.of(problem)
        best, looked = search.steepest(turns)
        found.append((problem.total(), min(begun.cost, *least), looked))
        assert least[best] == min(least) or begun.cost <= min(least)
        begun.restore()
        search = by_axis._Search.of(problem)
        search.work = 1_000
        monkeypatch.setattr(by_axis, "MANY", 1_000)
        assert search.steepest(turns)[1] == 1
        monkeypatch.setattr(by_axis, "MANY", 2)
        begun.restore()
        given(problem)

    monkeypatch.setattr(improve, "by_axis", first)
    planned(text, machine)
    assert found and all(total == least and looked == 2 for total, least, looked in found)


@pytest.mark.parametrize("run", [1, 8, 60])
def test_in_runs(too_large, monkeypatch, run):
    """Runs of few operations find no better plan, and one that is right."""
    least = planned(STEP).total()[0]
    monkeypatch.setattr(by_axis, "RUN", run)
    assert planned(STEP).total()[0] >= least


def test_no_more_is_built_than_may_be_solved(too_large, monkeypatch):
    built = by_axis.network

    def sizes(work):
        found = list[int]()

        def counted(*given, **more):
            net = built(*given, **more)
            found.append(len(net.integral))
            return net

        monkeypatch.setattr(by_axis, "network", counted)
        monkeypatch.setattr(by_axis, "WORK", work)
        planned(STEP)
        return found

    (whole, *_), (part,) = sizes(by_axis.WORK), sizes(1)
    assert part < whole


def test_without_an_axis():
    mesh = Mesh("m", (("x", 2), ("y", 4)))
    x, y = mesh.axis("x"), mesh.axis("y")
    low = Axis("y", 2, 1)
    rows = Sharding(mesh, (Dim((x, y)), Dim()))
    one, other = frozenset({"x"}), frozenset({"y"})
    assert without(rows, other) == without(Sharding(mesh, (Dim((low, x)), Dim((Axis("y", 2, 2),)))), other)
    assert without(rows, other) != without(Sharding(mesh, (Dim(), Dim((x,)))), other)
    assert without(rows, one) != without(Sharding(mesh, (Dim(),) * 2, unreduced=(y,)), one)
    assert without(rows, one | other) == without(Sharding(mesh, (Dim(),) * 2), one | other)


def test_far_too_many_choices_are_seen_before_one_is_made():
    problem = planned(STEP)
    for known in (problem.menu.built, problem.menu.listed, problem.weighed):
        known.clear()
    anew = [Ways(v.ways.op, v.ways.rule, v.ways.mesh) for v in problem.variables if v.ways is not None]
    for variable, ways in zip([v for v in problem.variables if v.ways is not None], anew, strict=True):
        variable.ways = ways
    with pytest.raises(TooMany):
        every(problem, exact.groups_of_program(problem), 20)
    assert not problem.menu.built and not any(ways.size for ways in anew)


@pytest.mark.parametrize(
    ("machine", "less", "taken"),
    [("h100-infiniband", 0.9, True), ("h100-infiniband", 1, False), ("balanced", 0.9, False)],
)
def test_axes_take_turns_where_a_plan_takes_longer_than_its_solution(machine, less, taken, monkeypatch):
    """With latency: of several copies those are made that send the least, and not the quickest ones."""
    turned, solved = list[bool](), exact.perfect

    def perfect(problem):
        reached = solved(problem)
        problem.proof = Proof(int(less * problem.total()[0]), "a solution that no plan is as quick as")
        return exact.Reached.BEST if not problem.expected else reached

    monkeypatch.setattr(improve, "perfect", perfect)
    monkeypatch.setattr(improve, "by_axis", lambda problem: turned.append(True))
    planned(STEP, machine)
    assert bool(turned) == taken
