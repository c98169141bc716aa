"""Plans for machines with latency count on what is combined: against plans that do not."""

from __future__ import annotations

import pytest

import shardc
from shardc.compilation import by_latency, by_pass
from shardc.diagnostics import collecting
from shardc.frontend.read import read
from shardc.options import Options
from shardc.planning.machines import Combined, load
from shardc.report.combined import plans

STEP = """
mesh pod[data=8]

def main(
    x: f32[4096@data, 256], v: f32[256, 256], w: f32[256, 256], u: f32[256, 256], b: f32[256]
) -> (f32[256, 256], f32[256, 256], f32[256, 256], f32[256]):
    h = relu(x @ v + b)
    g = relu(h @ w)
    d = (g @ u) * 2
    e = (d @ u.T) * g
    f = (e @ w.T) * h
    return v - x.T @ f, w - h.T @ e, u - g.T @ d, b - sum(f, axis=0)
"""
ALONE = """
mesh pod[x=4]

def main(a: f32[64@x, 32]) -> f32[64, 32]:
    return tanh(a)
"""


def shares_of(text: str, **named) -> tuple[Combined, ...]:
    options = Options(file="prog.shard", **named)
    with collecting():
        return by_latency(read(text, options), options)["insert-reshards"].get("shares", ())


def test_sums_of_gradients_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = shardc.cost(STEP, machine="h100-infiniband", tries=0)
    monkeypatch.setattr("shardc.compilation.by_latency", lambda module, options: by_pass(options))
    alone = shardc.cost(STEP, machine="h100-infiniband", tries=0)
    assert cost.time is not None and alone.time is not None
    assert [(each.op, each.times) for each in cost.collectives] == [("all-reduce", 1)]
    assert cost.time.total_ns < alone.time.total_ns


def test_the_explanation_says_what_was_counted() -> None:
    (share,) = shares_of(STEP, machine="h100-infiniband")
    assert share == Combined("all-reduce", ("data",), 4, 1)
    explained = shardc.explain(STEP, machine="h100-infiniband")
    assert explained.plan is not None
    assert "all-reduces over data are combined: of the latency of each 25% is counted" in explained.plan.left


def test_large_programs_are_tried_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the way from where they come in equal layers are taken out; what is counted on is the same."""
    monkeypatch.setattr("shardc.report.combined.WORTH", 1)
    assert shares_of(STEP, machine="h100-infiniband") == (Combined("all-reduce", ("data",), 4, 1),)


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


@pytest.mark.parametrize(("small", "names"), [(200, 6), (1, 2)])
def test_that_plan_is_taken_with_which_the_program_is_quickest(
    small: int, names: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardc.report.combined.SMALL", small)
    options = Options(file="prog.shard", machine="h100-infiniband")
    with collecting():
        module = read(STEP, options)
        tried = dict(plans(module, load("h100-infiniband"), by_pass(options)))
    assert len(tried) == names
    cost = shardc.cost(STEP, machine="h100-infiniband", tries=0)
    assert cost.time is not None and cost.time.total_ns == min(plan.took for plan in tried.values())
    assert tried["gradients"].took < tried["own"].took
