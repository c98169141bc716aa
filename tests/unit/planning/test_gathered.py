"""Plans whose tensors are whole over some mesh axes, and else as propagation lays them out."""

from __future__ import annotations

import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes.insert_reshards import planned
from shardc.passes.pipeline import run_to
from shardc.planning.program import Counted, Plan

BLOCKS = """
mesh pod[data=2, model=4]

def main(x: f32[64@data, 32], v: f32[32, 64@model], w: f32[64@model, 32]) -> f32[64@data, 32]:
    return tanh(relu(x @ v) @ w)
"""
TURNS = """
mesh pod[x=8]

def main(x: f32[64@x, 8], w: f32[8@x, 8]) -> f32[64@x, 8]:
    for i in range(10) carrying x:
        x = tanh(x @ w)
    return x
"""


def plan_of(text: str, *axes: str) -> Plan:
    module = read(text, Options(file="prog.shard"))
    with collecting():
        run_to(make_context(), module, "sharded")
        found = planned(module, counted=(Counted(search=False, gathered=axes),))
    assert found is not None
    return found[1]


@pytest.mark.parametrize("axes", [("model",), ("data",), ("data", "model")])
def test_what_is_made_is_whole_over_these_axes_and_split_over_others(axes: tuple[str, ...]) -> None:
    plan, own = plan_of(BLOCKS, *axes), plan_of(BLOCKS)
    made = {value for variable in plan.problem.variables for value in variable.node.results}
    assert made
    for value in made:
        named, stated = (
            [axis.name for dim in each.layouts[value].dims for axis in dim.axes] for each in (plan, own)
        )
        assert named == [name for name in stated if name not in axes]


def test_what_is_sent_is_sent_where_tensors_come_in_and_leave() -> None:
    plan, arguments = plan_of(BLOCKS, "model"), (0, 1, 2)
    assert [copy.value for copies in plan.copies() for copy in copies] == [*arguments[1:]]
    assert plan.collectives == 2 and plan_of(BLOCKS).collectives == 1


def test_loops_carry_whole_tensors() -> None:
    """What they carry is gathered once, before them."""
    assert plan_of(TURNS, "x").collectives == 2
