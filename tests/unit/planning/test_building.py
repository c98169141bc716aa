"""Networks: which copies are made in two steps as well, and programs that are not solved again."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.forms.choice import Choice
from shardc.planning.machines import load
from shardc.planning.program import gap, plan_program
from shardc.planning.program.integer import building, solve, values
from shardc.planning.program.integer.building import NEAR
from shardc.planning.program.integer.network import Network
from shardc.planning.program.integer.solve import RELAXED, Optimum
from shardc.planning.program.integer.solver import Found
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable
from shardc.planning.program.remembered import known
from shardc.planning.program.search import exact
from tests.unit.planning.test_known import propagated

STEP = """
mesh m[x=2, y=4]

def main(a: f32[64@x, 64], w: f32[64, 128@y], v: f32[128@y, 64]) -> f32[64@x, 64]:
    return tanh(a @ w) @ v
"""

TURNED = """
mesh m[a=2, b=2, c=2, d=2]

def main(x: f32[64@a, 64@b, 64@c, 64@d]) -> f32[64, 64, 64, 64]:
    return transpose(x, (3, 2, 1, 0)) + x
"""

SIZE = 5
TABLES = st.lists(
    st.tuples(st.sampled_from([1.0, 2.0, 3.0, 4.0, 1e3]), st.integers(0, 2)),
    min_size=SIZE * SIZE,
    max_size=SIZE * SIZE,
)

FEW = Path(__file__).parents[3] / "examples/layers/layers.shard"
"""A program whose quickest plan has more collectives than its gain is worth."""


@given(TABLES, st.integers(1, SIZE), st.sampled_from([1, 1 << 16]))
def test_copies_in_two_steps(table: list[tuple[float, int]], middle: int, together: int) -> None:
    ticks, count = (np.array(each, np.float64).reshape(SIZE, SIZE) for each in zip(*table, strict=True))
    order = sorted(product(range(SIZE), repeat=2), key=lambda pair: (ticks[pair], count[pair]))
    rank = {pair: place for place, pair in enumerate(order)}

    def in_two(start: int, end: int) -> bool:
        return any(
            (ticks[start, over] + ticks[over, end]) * (1 - NEAR) <= ticks[start, end]
            and count[start, over] + count[over, end] <= count[start, end]
            and max(rank[start, over], rank[over, end]) < rank[start, end]
            for over in range(middle)
            if over not in (start, end)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "TOGETHER", together)
        found = building._in_two(ticks, count, middle)
    for start, end in product(range(SIZE), repeat=2):
        assert start == end or found[start, end] == in_two(start, end)


def test_copies_between_all_layouts_of_four_axes_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,457 layouts have half a million copies between them that no two others replace."""
    monkeypatch.setattr(known, "_RECENT", {})
    sizes: list[int] = []
    in_two = vars(building)["_in_two"]
    monkeypatch.setattr(
        building, "_in_two", lambda ticks, *said: sizes.append(len(ticks)) or in_two(ticks, *said)
    )
    plan = plan_program(propagated(TURNED), machine=load("balanced"))
    assert plan.collectives == 1
    assert 0 < max(sizes) <= values.PLACES
    with monkeypatch.context() as patch:
        patch.setattr(values, "PLACES", max(sizes) - 1)
        assert gap.proof(plan.problem) is not None  # of the windows that can be solved


def test_few_collectives_are_looked_for_only_where_they_may_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan at hand takes as long as the least that the linear program shows."""
    monkeypatch.setattr(known, "_RECENT", {})
    asked: list[float] = []
    take = solve.take_cheapest

    def taking(
        net: Network, few: float = np.inf, work: int = RELAXED, begun: Found | None = None, **how: Any
    ) -> Optimum | None:
        asked.append(few)
        assert (begun is not None) == (few < np.inf)  # it goes on from the last linear program
        return take(net, few, work, begun=begun, **how)

    monkeypatch.setattr(exact, "take_cheapest", taking)
    with monkeypatch.context() as patch:
        patch.setattr(Optimum, "none_below", lambda optimum, ticks, found: False)
        anew = plan_program(propagated(FEW.read_text()), machine=load("balanced")).problem
    assert min(asked) < np.inf
    asked.clear()
    monkeypatch.setattr(known, "_RECENT", {})
    problem = plan_program(propagated(FEW.read_text()), machine=load("balanced")).problem
    assert min(asked) == np.inf
    assert problem.total() == anew.total() and problem.refused == anew.refused


def test_a_network_that_is_built_again_asks_for_no_price_of_an_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Variable] = []
    own = Problem.own_cost

    def counted(problem: Problem, variable: Variable, choice: Choice) -> tuple[int, int]:
        asked.append(variable)
        return own(problem, variable, choice)

    net = exact.whole(plan_program(propagated(STEP), machine=load("h100-infiniband")).problem)
    assert net is not None
    monkeypatch.setattr(Problem, "own_cost", counted)
    more = building.again(net)
    assert not net.options.keys() & set(asked)
    assert more.ticks[: len(net.chosen)] == net.ticks[: len(net.chosen)]
