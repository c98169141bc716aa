"""The table of what each move of planning is worth: its figures, and rows of what is gone."""

from __future__ import annotations

from pathlib import Path

from bench.ablation import DELETED, MOVES, WHOLE, Figures, combined, kept, table
from bench.changes import LIMITS, drawn, measured
from bench.changes import table as table_of_changes
from shardc.planning.reshard import planner

STEP = """mesh m[data=8]

def main(x: f32[8192@data, 32], w: f32[32, 32], v: f32[32, 32]) -> (f32[32, 32], f32[32, 32]):
    h = tanh(x @ w)
    d = h @ v
    return w - x.T @ (d @ v.T), v - h.T @ d
"""


def test_plans_for_a_machine_with_latency_are_left_out_one_by_one() -> None:
    figures = combined(lambda: (STEP, "step.shard"), "h100-infiniband")
    assert {
        WHOLE,
        "tensors that are whole over some axes",
        "propagation's layouts as they are",
    } <= figures.keys()
    assert all(ticks >= figures[WHOLE][0] > 0 for ticks, *_ in figures.values())


def test_what_was_deleted_keeps_its_row(tmp_path: Path) -> None:
    (gone, *_), (move, *_) = DELETED, MOVES
    figures: Figures = {WHOLE: (100, 2, 3, 8, 4.0), move: (150, 2, 3, 8, 3.0), gone: (100, 2, 3, 9, 2.0)}
    lines = list(table({"one": figures, "none": {}}))
    assert f"| {move} | 1 | 50.00% | 0 | 0 | 0.75 | one |" in lines
    assert f"| {gone} | 0 | – | 0 | 1 | 0.50 |  |" in lines
    assert any(line.startswith(f"Deleted for its row: {gone}, ") for line in lines)
    assert kept(tmp_path / "none.jsonl", "balanced") == {}


def test_limits_of_changes_of_layout_are_left_out_one_by_one() -> None:
    pairs = list(drawn(6))
    assert pairs == list(drawn(6)) != list(drawn(6, seed=1))
    header, _, _, _, *rows = table_of_changes(pairs)
    assert header.startswith("6 changes of layout") and [row.split(" | ")[0][2:] for row in rows] == [*LIMITS]
    assert all(measured(pairs, name).bytes <= measured(pairs).bytes for name in LIMITS)
    assert planner.EFFORT < planner.WHOLE_EFFORT
