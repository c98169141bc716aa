"""Plans for machines with latency count on what is combined: against plans that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

import shardc
from shardc.analysis.per_device import PerDeviceProgram
from shardc.analysis.per_device import read as read_local
from shardc.analysis.phases import AFTER, BEFORE, BETWEEN
from shardc.compilation import by_latency, by_pass
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.program import explain_module
from shardc.frontend.read import read
from shardc.layout import Axis
from shardc.options import Options
from shardc.passes import pipeline
from shardc.passes.pipeline import READING, Entry, run_to
from shardc.planning.machines import Combined, Machine, load
from shardc.planning.machines.shares import lacking, learn, sent_anyway, with_sums
from shardc.planning.program import Counted, Plan
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.remembered.known import forget
from shardc.report import combined, trials
from shardc.report.combined import plans
from shardc.report.times import Estimate, estimate
from shardc.report.traffic import Collective, collectives
from shardc.report.trials import Tried

STEP = """
mesh pod[data=8]

def main(
    x: f32[65536@data, 256], v: f32[256, 256], w: f32[256, 256], u: f32[256, 256], b: f32[256]
) -> (f32[256, 256], f32[256, 256], f32[256, 256], f32[256]):
    h = relu(x @ v + b)
    g = relu(h @ w)
    d = (g @ u) * 2
    e = (d @ u.T) * g
    f = (e @ w.T) * h
    return v - x.T @ f, w - h.T @ e, u - g.T @ d, b - sum(f, axis=0)
"""
MEANS = """
mesh pod[data=8]

def main(x: f32[131072@data, 16], c: f32[32, 16]):
    d = sum(x * x, axis=1)[:, None] - 2 * x @ c.T + sum(c * c, axis=1)
    a = where(argmin(d, axis=1)[:, None] == arange(32), 1.0, 0.0)
    n = maximum(sum(a, axis=0), 1.0)
    return (a.T @ x) / n[:, None], mean(min(d, axis=1))
"""
EXPERTS = """
mesh pod[e=8]

def main(
    x: f32[256@e, 8, 8], v: f32[8@e, 8, 64], w: f32[8@e, 64, 8], u: f32[8, 8]
) -> (f32[8@e, 8, 64], f32[8@e, 64, 8], f32[8, 8], f32[]):
    h = relu(einsum("bec,ecf->bef", x @ u, v))
    y = einsum("bef,efc->bec", h, w) - x
    g = einsum("bec,efc->bef", y, w) * h
    du = einsum("bef,ecf->bec", g, v)
    dv = einsum("bec,bef->ecf", x @ u, g)
    dw = einsum("bef,bec->efc", h, y)
    return v - dv, w - dw, u - einsum("bec,bed->cd", x, du), mean(y * y)
"""
LAYERS = """
mesh pod[x=4]

def main(x: f32[64, 32], v: f32[32, 64@x], w: f32[64@x, 32]) -> f32[64, 32]:
    y = tanh(relu(x @ v) @ w)
    return relu(y @ v) @ w
"""
MIXTURE = """
mesh pod[x=8]

def main(x: f32[32768@x, 8], m: f32[16, 8]) -> f32[16, 8]:
    for i in range(10) carrying m:
        d = sum(x * x, axis=1)[:, None] - 2 * x @ m.T + sum(m * m, axis=1)
        r = softmax(-d, axis=1)
        m = (r.T @ x) / sum(r, axis=0)[:, None]
    return m
"""
SMALL = """
mesh pod[data=2, model=4]

def main(
    x: f32[64@data, 32], v: f32[32, 64@model], w: f32[64@model, 32],
    b: f32[32, 64@model], c: f32[64@model, 32],
) -> f32[64@data, 32]:
    y = tanh(relu(x @ v) @ w)
    return relu(y @ b) @ c
"""
GRID = """
mesh pod[data=2, model=4]

def main(x: f32[64@data, 32], v: f32[32@data, 64@model], w: f32[64@model, 32]) -> (f32[64@data, 32], f32[32]):
    y = relu(x @ v) @ w
    return tanh(y), sum(y * y, axis=0)
"""
ALONE = """
mesh pod[x=4]

def main(a: f32[64@x, 32]) -> f32[64, 32]:
    return tanh(a)
"""


def shares_of(text: str, **named) -> tuple[Combined, ...]:
    options = Options(file="prog.shard", **named)
    with collecting():
        (*_, last) = by_latency(read(text, options), options)["insert-reshards"].get("counted", [Counted()])
    return last.shares


def test_sums_of_gradients_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = shardc.cost(STEP, machine="h100-infiniband", tries=0)
    monkeypatch.setattr("shardc.compilation.by_latency", lambda module, options: by_pass(options))
    alone = shardc.cost(STEP, machine="h100-infiniband", tries=0)
    assert cost.time is not None and alone.time is not None
    assert [(each.op, each.times) for each in cost.collectives] == [("all-reduce", 1)]
    assert cost.time.total_ns < alone.time.total_ns


def test_the_explanation_says_what_was_counted() -> None:
    (share,) = shares_of(STEP, machine="h100-infiniband")
    assert share == Combined("all-reduce", ("data",), 4, 1, AFTER)
    explained = shardc.explain(STEP, machine="h100-infiniband")
    assert explained.plan is not None
    said = "all-reduces over data after all products are combined: of the latency of each 25% is counted"
    assert explained.plan.left[:2] == (
        said,
        "here collectives are counted one by one; --cost counts what they become",
    )


def test_large_programs_are_tried_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the way from where they come in equal layers are taken out; what is counted on is the same."""
    monkeypatch.setattr("shardc.report.trials.prepare", lambda module, options: False)
    assert shares_of(STEP, machine="h100-infiniband") == (Combined("all-reduce", ("data",), 4, 1, AFTER),)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (STEP, {"machine": "h100-infiniband", "combine": 0}),
        (STEP, {"machine": "balanced"}),
        (STEP, {}),
        (ALONE, {"machine": "h100-infiniband"}),
    ],
)
def test_nothing_is_counted_on_that_does_not_happen(text: str, named) -> None:
    assert shares_of(text, **named) == ()


def tried(
    text: str, monkeypatch: pytest.MonkeyPatch, small: int = 200, machine: str = "h100-infiniband"
) -> dict[str, list[Tried]]:
    """The plans of each name."""
    monkeypatch.setattr("shardc.report.combined.SMALL", small)
    options, found = Options(file="prog.shard", machine=machine), dict[str, list[Tried]]()
    with collecting():
        for name, plan in plans(read(text, options), load(machine), by_pass(options)):
            found.setdefault(name, []).append(plan)
    return found


def counted(plan: Tried) -> tuple[Counted, ...]:
    """What a plan, and those that it comes after, count on."""
    return plan.options["insert-reshards"]["counted"]


def least(found: dict[str, list[Tried]], *but: str) -> int:
    """What the quickest plan takes, of those of other names."""
    return min(plan.took for name, plans in found.items() if name not in but for plan in plans)


def test_that_plan_is_taken_with_which_the_program_is_quickest(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried(EXPERTS, monkeypatch)
    assert list(found) == ["propagated", "data first", "gathered", "again", "joining", "ends"]
    cost = shardc.cost(EXPERTS, machine="h100-infiniband", tries=0)
    assert cost.time is not None and cost.time.total_ns == least(found)
    assert (
        least(found)
        < least(found, "again", "joining", "ends")
        < least(found, "again", "joining", "ends", "gathered")
    )


def test_equal_plans_are_priced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they count on: the layouts and forms are the same."""
    priced: list[int] = []

    def noted(machine: Machine, program: PerDeviceProgram, of: tuple[Collective, ...], peak: int) -> Estimate:
        found = estimate(machine, program, of, peak)
        priced.append(found.total_ns)
        return found

    monkeypatch.setattr(trials, "estimate", noted)
    found = tried(STEP, monkeypatch)
    made = [plan.took for plans in found.values() for plan in plans]
    assert len(priced) < len(made)
    assert {*made} == {*priced}
    once = len(priced)
    priced.clear()
    monkeypatch.setattr(Plan, "decided", property(lambda plan: object()))
    anew = tried(STEP, monkeypatch)
    assert anew == found and len(priced) == len(made) > once


def test_tensors_are_whole_over_one_axis_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The axis over which most is sent is first, and what cannot become quicker is not tried."""
    taken = [counted(plan)[-1].gathered for plan in tried(GRID, monkeypatch)["gathered"]]
    assert taken == [("model",), ("data",), ("data", "model")]
    taken = [counted(plan)[-1].gathered for plan in tried(SMALL, monkeypatch)["gathered"]]
    assert taken == [("model",), ("data", "model")]  # nothing is sent over data
    assert "gathered" not in tried(ALONE, monkeypatch)


def test_one_axis_after_the_other_is_gathered_while_that_is_quicker() -> None:
    """Which is tried: all pairs with the first, which is best, then all three; and none that is too late."""
    spent = {("a",): 30, ("b",): 20, ("c", "b"): 20, ("d",): 1}
    propagated, asked = Tried({}, 100, (), spent), list[tuple[str, ...]]()
    took = {("b",): 55, ("a", "b"): 45, ("b", "c"): 50, ("a", "b", "c"): 47}

    def placed(axes: tuple[str, ...], most: float) -> Tried:
        asked.append(axes)
        if axes == ("b", "c"):
            raise trials.SlowError
        return Tried({}, took.get(axes, 90), ())

    found = [*combined._gathered(propagated, propagated, placed, ["a", "b", "c", "d"])]
    assert min(plan.took for plan in found) == 45
    assert asked == [("b",), ("a", "b"), ("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c", "d")]
    asked.clear()
    assert [*combined._gathered(propagated, Tried({}, 40, ()), placed, ["a", "b", "c", "d"])]
    assert asked == [("a", "b", "c", "d")]  # over which all is sent but 29


def test_less_is_looked_for_where_the_search_comes_back_to_whole_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = tried(SMALL, monkeypatch)
    assert list(found) == ["propagated", "gathered", "again", "joining"]
    assert found["again"][0].took == found["gathered"][0].took
    found = tried(STEP, monkeypatch)  # here to the plan of propagation
    assert list(found) == ["propagated", "again", "joining", "ends"]
    assert found["again"][0].took == found["propagated"][0].took


def test_nobody_shares_latency_where_it_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of this step is: that is little here."""
    monkeypatch.setattr(combined, "LITTLE", 0.5)
    found = tried(STEP, monkeypatch)
    assert list(found) == ["propagated", "again"]
    assert 0.5 < found["propagated"][0].bare / found["propagated"][0].took < 0.8


def test_a_large_program_that_does_not_wait_is_searched_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors that are whole would take twice as long without latency, so nothing more is made of them."""
    assert list(tried(STEP, monkeypatch, 1))[:2] == ["propagated", "again"]
    assert "gathered" not in tried(STEP, monkeypatch)
    names = list(tried(EXPERTS, monkeypatch, 1))  # this is latency
    assert names.index("gathered") < names.index("again")


def test_a_large_program_is_followed_from_the_plan_with_divided_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless that takes far longer; what becomes one in it counts all the same."""
    found = tried(STEP, monkeypatch, 1)
    (sums,) = learn(found["propagated"][0].found)
    scattered = sums._replace(title="reduce-scatter")
    assert counted(found["again"][0]) == (Counted((sums, scattered)),)
    found = tried(EXPERTS, monkeypatch, 1)
    assert found["propagated"][0].took > combined.FAR * found["gathered"][0].took
    first, again = counted(found["again"][0])
    assert first.gathered == ("e",) and {*learn(found["gathered"][0].found)} < {*again.shares}
    assert {each.title for each in again.shares} > {"all-reduce", "reduce-scatter"}


FSDP = """
mesh pod[data=8]

def main(
    x: f32[4096@data, 256], v: f32[256@data, 256], w: f32[256@data, 256]
) -> (f32[256@data, 256], f32[256@data, 256]):
    h = relu(x @ v)
    d = h @ w
    e = (d @ w.T) * h
    return v - x.T @ e, w - h.T @ d
"""


def test_data_may_come_before_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both are split over one axis, and propagation carries that of the weights on."""
    found = tried(FSDP, monkeypatch)
    assert list(found)[:2] == ["propagated", "data first"]
    assert counted(found["data first"][0])[-1].data_first
    assert "data first" not in tried(STEP, monkeypatch)


class Searches:
    """Trials that find these plans, one after the other."""

    def __init__(self, took: Sequence[int], found: Sequence[Combined]) -> None:
        self.left = [Tried({}, *each) for each in zip(took, ((one,) for one in found), strict=False)]
        self.begun, self.shares = list[int](), list[tuple[Combined, ...]]()

    def searched(self, shares: tuple[Combined, ...], begin: Tried) -> Tried:
        self.begun.append(begin.took)
        self.shares.append(shares)
        return self.left.pop(0)


def gathers(part: float) -> Combined:
    return Combined("all-gather", ("data",), 4, part, BEFORE)


@pytest.mark.parametrize(
    ("took", "parts", "best", "made"),
    [
        ([50, 40, 30, 20], [3.0, 2.0, 2.5, 2.0], 30, 3),  # so many turns
        ([50, 60], [3.0, 2.0, 2.5], 50, 2),
        ([95, 60], [3.0, 2.0], 95, 1),  # little quicker than where it begins
        ([50, 40], [3.0, 3.0], 50, 1),  # what was counted on
        ([50, 40], [3.0, 1.0, 1.0], 40, 2),  # all of them became one
    ],
)
def test_plans_follow_each_other_while_they_get_quicker(
    took: list[int], parts: list[float], best: int, made: int
) -> None:
    sums = [*map(gathers, parts)]
    searches, first = Searches(took, [*sums[1:], sums[-1], sums[-1]]), Tried({}, 100, (sums[0],))
    search = combined._Search(cast("Any", searches), first, large=True)
    found = [plan.took for plan in search.begun_at(first, first)]
    assert (min(found), len(searches.begun)) == (best, made)
    assert searches.begun == [100, *took][:made]
    assert searches.shares == [(share,) for share in sums[:made]]
    assert not [*search.begun_at(first, first)]  # none begins there twice


def test_a_small_program_counts_on_what_became_one_alone_and_with_divided_tensors() -> None:
    """The latter where more than a little is latency; none begins far from the best."""
    own, other = gathers(3.0), gathers(1.0)._replace(phase=AFTER)
    divided = Tried({}, 100, (other,))
    for bare, shares in ((0, [(own,), (own, other)]), (90, [(own,)])):
        plan = Tried({}, 90, (own,), bare=bare)
        searches = Searches([80, 70], [own, own])
        search = combined._Search(cast("Any", searches), divided, large=False)
        assert [found.took for found in search.begun_at(plan, plan)] == [80, 70][: len(shares)]
        assert searches.shares == shares
        assert not [*search.begun_at(divided, Tried({}, 49, ()))]


def test_what_is_counted_on_follows_the_quickest_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search begins at another plan; it is found again so."""
    again, *_ = tried(EXPERTS, monkeypatch)["again"]
    assert [(each.search, each.gathered) for each in counted(again)] == [(False, ("e",)), (True, ())]
    options = Options(file="prog.shard", machine="h100-infiniband")
    with collecting():
        module = read(EXPERTS, options)
        run_to(make_context(), module, "local", options=again.options)
    program = read_local(snapshot(module).graph)
    assert estimate(load("h100-infiniband"), program, collectives(program), 0).total_ns == again.took


def test_a_search_knows_the_prices_of_the_plan_where_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """With them it finds the same plan, and prices fewer changes of layout itself."""
    settle, asked = Prices.settle, list[object]()

    def settled(prices: Prices, *change: Any) -> bool:
        known = len(prices.exact)
        changed = settle(prices, *change)
        asked.extend([change] * (len(prices.exact) - known))
        return changed

    monkeypatch.setattr(Prices, "settle", settled)
    again = tried(EXPERTS, monkeypatch)["joining"][0]
    knowing = len(asked)
    asked.clear()
    monkeypatch.setattr("shardc.planning.program.plan._know", lambda problem, other: None)
    forget()
    assert tried(EXPERTS, monkeypatch)["joining"][0].took == again.took
    assert knowing < len(asked)


def test_what_is_only_priced_is_not_outlined(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as long as the program that people read."""
    names = list[str]()
    load_pass = Entry.load
    monkeypatch.setattr(Entry, "load", lambda entry: names.append(entry.name) or load_pass(entry))
    found = tried(STEP, monkeypatch)
    assert "simplify-local" in names and not {*READING} & {*names}
    cost = shardc.cost(STEP, machine="h100-infiniband", tries=0)
    assert {*READING} <= {*names}
    assert cost.time is not None and cost.time.total_ns == least(found)


def test_what_is_only_priced_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is the program that is taken."""
    options = Options(file="prog.shard", machine="h100-infiniband")
    module, verified = read(ALONE, options), list[object]()
    monkeypatch.setattr(pipeline, "verify", verified.append)
    with collecting():
        told = by_latency(module, options)
        assert not verified
        run_to(make_context(), module, "local", options=told)
    assert verified == [module]


def test_what_propagation_finds_may_be_the_quickest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of k-means: three sums that become one, of which each alone is better gathered."""
    found = tried(MEANS, monkeypatch)
    assert found["propagated"][0].took == least(found) < found["gathered"][0].took
    assert [(each.op, each.times) for each in shardc.cost(MEANS, machine="h100-infiniband").collectives] == [
        ("all-reduce", 1)
    ]


def test_tensors_that_are_whole_over_an_axis_may_be_the_quickest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones: gathers that become one take less than what is sent for dividing the work further."""
    found = tried(SMALL, monkeypatch)
    assert found["gathered"][0].took == least(found) < found["propagated"][0].took
    cost = shardc.cost(SMALL, machine="h100-infiniband")
    assert [(each.op, each.over) for each in cost.collectives] == [("all-gather", (Axis("model", 4),))]
    assert cost.time is not None and cost.time.total_ns == found["gathered"][0].took


def test_the_explanation_says_what_is_whole() -> None:
    module = read(SMALL, Options(file="prog.shard"))
    explained = explain_module(module, counted=(Counted(search=False, gathered=("model",)),))
    said = "every operation leaves its results as propagation lays them out, but whole over model: with its "
    assert explained.plan is not None
    assert said + "collectives combined, that is the quickest" in explained.plan.left


def test_where_memory_is_bound_tensors_are_not_whole() -> None:
    options = Options(file="prog.shard", machine="h100-infiniband")
    with collecting():
        module, machine = read(SMALL, options), load("h100-infiniband")
        found = [name for name, _ in plans(module, machine, by_pass(options), bound=True)]
    assert found == ["propagated", "again", "again", "joining", "ends"]


def test_a_plan_of_one_collective_is_held_against_what_becomes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of a mixture model sums twice, as one: ten times that takes less than to do all of the work
    everywhere, for which the data are gathered once. So do scatters and gathers of half of it."""
    found = tried(MIXTURE, monkeypatch, machine="tpu-v5e")
    assert least(found) <= found["propagated"][0].took < found["gathered"][0].took
    cost = shardc.cost(MIXTURE, machine="tpu-v5e", tries=0)
    assert cost.time is not None and cost.time.total_ns == least(found)
    assert {each.times for each in cost.collectives} == {10}


def test_the_explanation_says_that_data_came_before_state() -> None:
    module = read(FSDP, Options(file="prog.shard"))
    explained = explain_module(module, counted=(Counted(search=False, data_first=True),))
    said = "every operation leaves its results as propagation lays them out with data before state: with its "
    assert explained.plan is not None
    assert said + "collectives combined, that is the quickest" in explained.plan.left


def test_what_becomes_one_is_counted_over_regions() -> None:
    sums, gathers = (("all-reduce", ("x",)), ("all-gather", ("x",)))
    found = (Combined(*sums, 3, 1), Combined(*gathers, 2, 2), Combined(*sums, 2, 2))
    assert learn(found) == (Combined(*sums, 5, 3), Combined(*gathers, 2, 2))


def test_sums_become_one_scattered_or_not() -> None:
    """As far as only one of the two is known."""
    some, others = (
        Combined("all-reduce", ("x",), 4, 1, AFTER),
        Combined("reduce-scatter", ("x",), 4, 2, AFTER),
    )
    gathers = Combined("all-gather", ("x",), 2, 1, BEFORE)
    assert with_sums((some, gathers)) == (some, gathers, some._replace(title="reduce-scatter"))
    assert with_sums((others,)) == (others, others._replace(title="all-reduce"))
    assert with_sums((some, others)) == (some, others)
    assert lacking([some], [some._replace(before=9), gathers]) == (gathers,)


def test_one_more_hardly_counts_where_others_are_sent_anyway() -> None:
    """Before all products and after them, where several become one."""
    sums, alone = Combined("all-reduce", ("x",), 4, 1, AFTER), Combined("all-gather", ("x",), 2, 2, BEFORE)
    between = sums._replace(phase=BETWEEN)
    (less, *others) = sent_anyway((sums, alone, between))
    assert less.part < sums.part / 4 and others == [alone, between]


GATHERS = """
mesh pod[x=8]

def main(a: f32[64@x, 256], v: f32[256@x, 256], w: f32[256@x, 256], u: f32[256@x, 256]) -> f32[64@x, 256]:
    return relu(relu(a @ v) @ w) @ u
"""


def test_what_becomes_one_is_counted_by_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are gathered together, before all products."""
    found = tried(GATHERS, monkeypatch)["propagated"][0].found
    assert {(each.phase, each.before, each.after) for each in found} == {(BEFORE, 3, 1)}


def test_of_one_with_others_of_another_phase_each_is_a_part() -> None:
    many = Combined("all-reduce", ("x",), 1, 0.25, BETWEEN), Combined("all-reduce", ("x",), 3, 0.75, AFTER)
    assert learn((*many, many[1])) == (many[0], many[1]._replace(before=6, after=1.5))
    assert all(each.part == 0.25 for each in many)
