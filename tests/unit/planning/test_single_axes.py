"""Axes of one device say nothing of who holds what: a program on them is planned as without them."""

from __future__ import annotations

from bench.ablation import propagated
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.planning.program import plan_program

LAYER = """
mesh pod[data=2, {more}model=2]

def main(
    x: f32[8@{rows}, 64], w: f32[64, 128@model], v: f32[128@{columns}, 64]
) -> f32[8@{result}, 64]:
    h = relu(x @ w)
    return h @ v
"""


def test_a_layout_does_not_name_them() -> None:
    mesh = Mesh("m", (("x", 2), ("one", 1)))
    x, one = mesh.axis("x"), mesh.axis("one")
    assert Sharding(mesh, (Dim((one, x)), Dim((one,)))).layout() == Sharding(mesh, (Dim((x,)), Dim()))
    partial = Sharding(mesh, (Dim((Axis("x", 2),)),), unreduced=(one,), kind="max")
    assert partial.layout() == Sharding(mesh, (Dim((x,)),))


def test_a_program_on_them_is_planned_as_without_them() -> None:
    plain = LAYER.format(more="", rows="data", columns="model", result="data")
    single = LAYER.format(more="one=1, ", rows="(data, one)", columns="(model, one)", result="(one, data)")
    plans = [plan_program(propagated(text, "prog.shard")) for text in (plain, single)]
    assert plans[0].collectives == 1
    assert plans[0].problem.total() == plans[1].problem.total()
    assert len(plans[0].problem.variables) == len(plans[1].problem.variables)
