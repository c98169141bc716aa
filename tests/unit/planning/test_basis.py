"""Where linear programs begin: what of a basis stays, and that it saves steps of the simplex method."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.planning.machines import load
from shardc.planning.program import plan_program
from shardc.planning.program.costs.bounds import Bounds
from shardc.planning.program.integer import solve
from shardc.planning.program.integer.basis import BASIC, LOWER, Basis, Parts
from shardc.planning.program.integer.network import Network
from shardc.planning.program.integer.solver import Sums
from shardc.planning.program.integer.solver import solve as solved
from shardc.planning.program.remembered import known
from tests.unit.planning.test_known import propagated

PROGRAM = """
mesh m[x=2, y=4]

def main(x: f32[64@x, 512], v: f32[512, 512@y], w: f32[512@y, 512]) -> f32[512, 512@y]:
    h = relu(x @ v)
    return v - x.T @ (((h @ w) @ w.T) * h)
"""

LAST = np.array([1, 0, 1, 2, 1], np.int8)


def parts(*each: tuple[int, list[int] | None]) -> Parts:
    found = Parts()
    for start, codes in each:
        found.open(start, None if codes is None else np.array(codes))
    return found


def test_what_has_the_same_code_stays() -> None:
    before, after = parts((0, None), (2, [3, 5, 8])), parts((0, None), (2, [5, 6, 8, 9]))
    found = before.carried(LAST, after, 6, LOWER)
    assert found is not None and found.tolist() == [1, 0, 2, LOWER, 1, LOWER]
    fresh = before.carried(LAST, after, 6, BASIC)
    assert fresh is not None and fresh.tolist() == [1, 0, 2, BASIC, 1, BASIC]


def test_a_part_that_had_nothing() -> None:
    found = parts((0, None), (5, [])).carried(LAST, parts((0, None), (5, [7])), 6, LOWER)
    assert found is not None and found.tolist() == [*LAST, LOWER]


@pytest.mark.parametrize(
    "other",
    [
        parts((0, None)),  # fewer
        parts((0, None), (3, [3, 5, 8])),  # another size
        parts((0, None), (2, None)),  # without codes
    ],
)
def test_other_parts_have_nothing_in_common(other: Parts) -> None:
    assert parts((0, None), (2, [3, 5, 8])).carried(LAST, other, 6, LOWER) is None


@given(st.lists(st.sampled_from(range(5)), min_size=9, max_size=9))
def test_any_basis_leads_to_the_optimum(statuses: list[int]) -> None:
    """Also one that is none: HiGHS repairs it."""
    at, columns = np.divmod(np.arange(18), 6)
    factors = np.array([1.0, 2, 0, 1, 3, 1, 0, 1, 1, 2, 1, 0, 2, 0, 1, 1, 1, 3])
    sums = Sums.of(at, columns, factors, np.array([2.0, 1, 3]), np.full(3, np.inf), 6)
    costs = np.array([3.0, 4, 2, 5, 6, 7])
    start = Basis(np.array(statuses[:6], np.int8), np.array(statuses[6:], np.int8))
    anew, begun = solved(costs, sums, None), solved(costs, sums, None, start)
    assert anew is not None and begun is not None and abs(anew.bound - begun.bound) < 1e-9


def test_the_basis_of_a_solution() -> None:
    """Of a sum with a lower bound, one with an upper bound and one with both, HiGHS's own statuses."""
    at, columns = np.divmod(np.arange(12), 4)
    factors = np.array([1.0, 2, 1, 3, 1, 1, 0, 2, 2, 1, 1, 1])
    low, high = np.array([3.0, -np.inf, 2.5]), np.array([np.inf, 2.0, 2.5])
    sums = Sums.of(at, columns, factors, low, high, 4)
    ended: list[Any] = []
    run = highspy.Highs.run

    def running(highs: Any) -> Any:
        done = run(highs)
        ended.append((highs.getBasis(), highs.getInfo().simplex_iteration_count))
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(highspy.Highs, "run", running)
        for costs in ([3.0, 4, 2, 5], [1.0, 9, 1, 9], [-1.0, 2, -3, 1]):
            ended.clear()
            found = solved(np.array(costs), sums, None, presolve=False)
            assert found is not None
            basis = found.basis()
            ((theirs, _),) = ended
            assert basis.columns.tolist() == [*map(int, theirs.col_status)]
            assert basis.rows[:2].tolist() == [*map(int, theirs.row_status)][:2]
            assert (basis.rows[2] == BASIC) == (int(theirs.row_status[2]) == BASIC)
            assert solved(np.array(costs), sums, None, basis, presolve=False) is not None
            assert ended[-1][1] == 0


def iterations(monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, tuple[int, ...]]:
    """Steps of the simplex method in linear programs solved again, how many there were, and the cost."""
    steps: list[int] = []
    run = highspy.Highs.run

    def running(highs: Any) -> Any:
        done = run(highs)
        steps.append(highs.getInfo().simplex_iteration_count)
        return done

    again: list[int] = []

    def renewed(net: Network) -> Network:
        again.append(len(steps))
        return renew(net)

    renew = solve.again
    with monkeypatch.context() as patch:
        patch.setattr(known, "_RECENT", {})
        patch.setattr(highspy.Highs, "run", running)
        patch.setattr(solve, "again", renewed)
        problem = plan_program(propagated(PROGRAM), machine=load("tpu-v5e")).problem
    return sum(steps[place] for place in again), len(again), problem.total()


def test_a_program_solved_again_begins_where_the_last_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, times, cost = iterations(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Network, "start", lambda net, before, basis: None)
        anew, _, other = iterations(monkeypatch)
    assert times and 2 * begun < anew and cost == other


def test_a_large_program_is_left_where_prices_hardly_raise_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its bound is below the plan; a small one goes on until they meet. Of copies half is known here."""
    of = Bounds.of
    monkeypatch.setattr(Bounds, "of", lambda known, asked: [(t / 2, count) for t, count in of(known, asked)])
    monkeypatch.setattr(solve, "RISE", 10)
    _, fewer, quick = iterations(monkeypatch)
    monkeypatch.setattr(solve, "TIES", solve.RELAXED)
    _, times, cost = iterations(monkeypatch)
    assert 0 < fewer < times and quick[0] >= cost[0]
