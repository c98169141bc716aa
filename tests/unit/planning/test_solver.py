"""HiGHS by its own package: what it finds, and that it leaves the process as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from msgspec.structs import replace

from shardc.planning.effort import Allowance
from shardc.planning.machines import load
from shardc.planning.program import Counted, plan_program
from shardc.planning.program.integer import highs, solver
from shardc.planning.program.integer.highs import Limits, Rows, Solved, least, minimum
from shardc.planning.program.integer.solver import Found, Row, Sums, solve
from shardc.planning.program.remembered import known
from shardc.planning.solvers import Vector
from tests.unit.planning.test_basis import PROGRAM
from tests.unit.planning.test_known import propagated

ROOT = Path(__file__).parents[3]


def knapsack() -> Sums:
    """2 a + 3 b + 4 c >= 5, with a factor of a in two parts and in any order."""
    low, high = np.array([5.0]), np.array([np.inf])
    at, columns = np.array([0, 0, 0, 0]), np.array([2, 0, 1, 0])
    return Sums.of(at, columns, np.array([4.0, 1.5, 3.0, 0.5]), low, high, 3)


def test_factors_of_ranges() -> None:
    rows = Rows([1], [0], [2.0], [0.0, 0.0], [1.0, 1.0])
    rows.put_range(np.array([1, 0]), range(1, 3), -1)
    sums = rows.and_also(([(1, 3.0)], 0, 4)).sums(3)
    assert sums.at.tolist() == [0, 1, 1, 2] and sums.columns.tolist() == [2, 0, 1, 1]
    assert sums.factors.tolist() == [-1.0, 2.0, -1.0, 3.0] and sums.high.tolist() == [1, 1, 4]


def test_factors_of_one_place_are_added() -> None:
    sums = knapsack()
    assert sums.columns.tolist() == [0, 1, 2] and sums.factors.tolist() == [2.0, 3.0, 4.0]
    assert sums.starts.tolist() == [0, 3]
    assert sums.hold(np.array([1.0, 1.0, 0.0]), 0) and not sums.hold(np.array([0.0, 0.0, 1.0]), 0)


def test_linear_and_integer() -> None:
    costs = np.array([2.0, 2.0, 2.5])
    linear = solve(costs, knapsack(), None)
    assert linear is not None and np.allclose(linear.columns, [0, 1 / 3, 1])
    integer = solve(costs, knapsack(), [True, True, True])
    assert integer is not None and integer.columns.round().tolist() == [1, 1, 0]
    assert abs(integer.bound - 4) < 1e-6


class Unmultiplied(np.ndarray[Any, np.dtype[np.float64]]):
    """Numbers of which there is no product of BLAS, which would wake its threads."""

    def __matmul__(self, other: Any) -> Any:
        raise AssertionError


@pytest.mark.parametrize("integral", [False, True])
def test_no_product_wakes_threads(integral: bool) -> None:
    rows = Rows([0, 0, 0], [0, 1, 2], [2.0, 3.0, 4.0], [5.0], [np.inf])
    costs = np.array([2.0, 2.0, 2.5])
    found = minimum(costs.view(Unmultiplied), rows, [integral] * 3)
    assert found is not None and abs(found.value - float(costs @ found.columns)) < 1e-9


def test_no_integer_program_where_the_linear_one_is_unsure() -> None:
    """Half of two columns is less than one of them; the price of one may not be what it takes.

    The other is used once it costs no more, 2 less.
    """
    rows = Rows([0, 0], [0, 1], [2.0, 2.0], [1.0], [2.0])
    costs, asked = np.array([1.0, 3.0]), list[list[float]]()

    def unsure(relaxed: Solved) -> bool:
        asked.extend(each.round(6).tolist() for each in (relaxed.columns, relaxed.reduced))
        return True

    found = minimum(costs, rows, [True, True], unsure=unsure)
    assert found is not None and not found.whole and found.bound == 0.5 and asked == [[0.5, 0.0], [0.0, 2.0]]
    sure = minimum(costs, rows, [True, True], unsure=lambda relaxed: False)
    assert sure is not None and sure.whole and sure.columns.tolist() == [1, 0]


def test_what_columns_would_cost_less_is_read_of_the_last_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS gives it number by number, as it does the columns: a millisecond for 20,000 of them, and rows are
    added a dozen times.
    """
    rows, read, rounds = Rows([0, 0], [0, 1], [2.0, 2.0], [1.0], [np.inf]), list[int](), list[Vector]()
    vector = solver._vector
    monkeypatch.setattr(solver, "_vector", lambda numbers: read.append(len(numbers)) or vector(numbers))

    def lacking(columns: Vector) -> list[Row]:
        rounds.append(columns)
        return [([(len(rounds) - 1, 1.0)], 0.75, 1.0)] if len(rounds) <= 2 else []

    found = minimum(np.array([1.0, 3.0]), rows, [False] * 2, lacking=lacking)
    assert found is not None and found.columns.tolist() == [0.75, 0.75] and not found.reduced.any()
    assert [len(rounds), len(read)] == [3, 3 + 1]


def test_the_least_below_a_limit_on_one_sum_more() -> None:
    costs, rows = np.array([2.0, 2.0, 2.5]), Rows([0, 0, 0], [0, 1, 2], [2.0, 3.0, 4.0], [5.0], [np.inf])
    first = minimum(costs, rows, [False] * 3)
    anew = minimum(costs, rows.and_also(([(2, 1.0)], -np.inf, 0.5)), [False] * 3)
    assert first is not None and anew is not None and anew.value > first.value
    few = first.further([([(2, 1.0)], -np.inf, 0.5)])
    assert few is not None and least(costs, few) == anew.whole_bound
    assert np.allclose(few.columns, anew.columns) and few.basis().rows.shape == (2,)
    assert few.further([([(0, 1.0), (1, 1.0), (2, 1.0)], -np.inf, 0.5)]) is None


def test_what_is_known_of_a_linear_program_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers are found from there on."""
    costs, rows = np.array([2.0, 2.0, 2.5]), Rows([0, 0, 0], [0, 1, 2], [2.0, 3.0, 4.0], [5.0], [np.inf])
    first = minimum(costs, rows, [True] * 3)
    begun = solve(costs * 400, rows.sums(3), None)
    programs: list[bool] = []

    def counted(
        costs: Vector, sums: Sums, integral: list[bool] | None, *more: Any, **only: Any
    ) -> Found | None:
        programs.append(integral is not None)
        return solve(costs, sums, integral, *more, **only)

    monkeypatch.setattr(highs, "solve", counted)
    again = minimum(costs, rows, [True] * 3, begun=begun)
    assert programs == [True]
    assert first is not None and again is not None and first.columns.tolist() == again.columns.tolist()


def test_nothing_holds() -> None:
    sums = Sums.of(np.array([0]), np.array([0]), np.array([1.0]), np.array([2.0]), np.array([3.0]), 1)
    assert solve(np.array([1.0]), sums, None) is None
    assert solve(np.array([1.0]), sums, [True]) is None


def test_where_somebody_else_has_started_threads() -> None:
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.run()
    assert solve(np.array([2.0, 2.0, 2.5]), knapsack(), None) is not None


def test_a_program_on_standard_output_is_all_there_is() -> None:
    """HiGHS of scipy repaired a solution of this one, and said so unasked."""
    example = ROOT / "examples/megatron_mlp/megatron_mlp.shard"
    words = ["-m", "shardc.cli.shardc", str(example), "--cost", "--machine", "h100-infiniband"]
    done = subprocess.run(
        [sys.executable, *words, "--format", "json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("{")


def test_no_time_decides_what_is_found() -> None:
    """Of a limit in seconds presolve takes a part for a step that it leaves out when that has passed."""
    assert not any("time" in option for option in solver._OPTIONS)
    assert highspy.Highs().getOptionValue("time_limit")[1] == np.inf


def test_a_small_program_is_planned_without_scipy(tmp_path: Path) -> None:
    program = tmp_path / "prog.shard"
    program.write_text(
        "mesh m[x=4]\n\n"
        "def main(a: f32[16@x, 32], w: f32[32, 16]) -> f32[16, 16@x]:\n    return tanh(a @ w)\n"
    )
    code = (
        "import sys; from shardc.cli.shardc import main; "
        f"main([{str(program)!r}, '--no-cache', '-o', {str(tmp_path / 'out.py')!r}]); "
        "print([name for name in sys.modules if name.partition('.')[0] in ('scipy', 'jax', 'onnx')])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


def test_a_linear_program_ends_after_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = np.array([2.0, 2.0, 2.5])
    monkeypatch.setattr(solver, "ITERATIONS", 0)
    assert solve(costs, knapsack(), None, presolve=False) is None
    monkeypatch.setattr(solver, "ITERATIONS", 10 * len(costs))
    assert solve(costs, knapsack(), None, presolve=False) is not None


def test_what_follows_a_linear_program_takes_of_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    costs, more = np.array([2.0, 2.0, 2.5]), [([(2, 1.0)], -np.inf, 0.5)]
    for steps, found in ((2, False), (20, True)):
        monkeypatch.setattr(solver, "ITERATIONS", steps * len(costs))
        first = solve(costs, knapsack(), None, presolve=False)
        assert first is not None and (first.further(more) is not None) == found


def test_a_program_is_planned_where_no_linear_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is proved then, and no plan is worse than propagation's."""
    monkeypatch.setattr(known, "_RECENT", {})
    machine = load("h100-infiniband")
    stated = plan_program(
        propagated(PROGRAM), machine=machine, counted=(Counted(search=False),)
    ).problem.total()
    monkeypatch.setattr(solver, "ITERATIONS", 0)
    problem = plan_program(propagated(PROGRAM), machine=machine).problem
    assert problem.proof is None and problem.total() <= stated


def test_integer_programs_end_where_nothing_is_left_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solution that lacks a row may be a plan all the same: its price says how far it is off the bound."""
    costs, rows = np.array([2.0, 2.0, 2.5]), Rows([0, 0, 0], [0, 1, 2], [2.0, 3.0, 4.0], [5.0], [np.inf])
    solved = list[bool]()

    def counted(*said: Any, **only: Any) -> Found | None:
        solved.append(said[2] is not None)
        found = solve(*said, **only)
        return None if found is None else replace(found, steps=10)

    monkeypatch.setattr(highs, "solve", counted)

    def never(columns: Vector) -> list[Row]:
        return [([(0, 1.0)], 0.0, 1.0)] if any(solved) else []

    left = Allowance(steps=35)
    limits = Limits(allowance=left)
    found = minimum(costs, rows, [True] * 3, limits, lacking=never)
    assert solved == [False, True, True] and left.steps <= 0
    assert found is not None and found.nearly and not found.whole and found.bound <= found.value
    solved.clear()
    linear = minimum(costs, rows, [True] * 3, limits)
    assert solved == [False]
    assert linear is not None and not linear.whole and not linear.nearly and linear.bound <= found.bound


def test_a_program_with_one_hard_integer_program_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power of a matrix on two axes: an integer program of 486 columns takes two seconds."""
    monkeypatch.setattr(known, "_RECENT", {})
    lines = "b = a / 16", "c = b @ b", "return b @ (c @ c)"
    text = "\n    ".join(["mesh m[x=2, y=4]\n\ndef main(a: f32[16@x, 16]):", *lines, "\n"])
    steps, whole = list[int](), solver._found

    def found(*said: Any) -> Found | None:
        made = whole(*said)
        steps.extend([made.steps] if made is not None and not said[2] else [])
        return made

    monkeypatch.setattr(solver, "_found", found)
    stated = plan_program(propagated(text), counted=(Counted(search=False),)).problem.total()
    problem = plan_program(propagated(text)).problem
    assert problem.allowance.steps <= 0 and sum(count > 1_000 for count in steps) == 1
    assert problem.total() < stated
