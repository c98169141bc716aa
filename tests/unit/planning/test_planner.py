"""A program that is planned several times is read and set up once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from shardc.analysis.manual import NO_AXES
from shardc.analysis.phases import AFTER, BEFORE, PHASES, PLAIN, Context
from shardc.compilation import by_pass
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding, replicated
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.machines import Combined, load
from shardc.planning.program import Counted, Planner, plan_program
from shardc.planning.program import plan as module
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.remembered import known
from shardc.planning.reshard.runs import alone, atoms_for
from shardc.report.combined import plans
from tests.unit.planning.test_delays import shardings

LOOP = """
mesh pod[data=2, model=4]

def main(
    x: f32[4, 256@data, 64], w: f32[64, 128@model], v: f32[128@model, 64]
) -> (f32[64, 128@model], f32[128@model, 64]):
    g = zeros((64, 128), dtype=f32)
    h = zeros((128, 64), dtype=f32)
    for a in x carrying g, h:
        z = tanh(a @ w)
        g = g + a.T @ (z * (z @ v @ v.T))
        h = h + z.T @ (z @ v)
    return w - 0.1 * g, v - 0.1 * h
"""
SHARED = (Combined("all-reduce", ("data",), 4, 1, AFTER), Combined("all-gather", ("model",), 2, 1, BEFORE))
COUNTED = (
    (Counted(search=False),),
    (Counted(search=False, gathered=("model",)),),
    (Counted(),),
    (Counted(), Counted(SHARED)),
    (Counted(SHARED),),
    (Counted(),),
)


def sharded(text: str) -> Any:
    with collecting():
        found = read(text, Options(language="shard"))
        run_to(make_context(), found, "sharded")
    return found


@pytest.mark.parametrize("machine", ["tpu-v5e", "h100-infiniband"])
def test_plans_of_one_planner_are_those_of_several(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, begun, set_up = snapshot(sharded(LOOP)).graph, list[object](), module.setup
    planner = Planner(graph, machine=load(machine))
    monkeypatch.setattr(module, "setup", lambda *said: begun.append(said) or set_up(*said))
    monkeypatch.setattr(known, "_RECENT", {})
    found = [(plan.decided, plan.problem.total()) for plan in map(planner.plan, COUNTED)]
    assert len(begun) == 1
    assert len({decided for decided, _ in found}) > 1
    for counted, mine in zip(COUNTED, found, strict=True):
        monkeypatch.setattr(known, "_RECENT", {})
        other = plan_program(graph, machine=load(machine), counted=counted)
        assert (other.decided, other.problem.total()) == mine


def test_all_plans_of_a_program_are_set_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, set_up = list[object](), module.setup
    monkeypatch.setattr(module, "setup", lambda *said: begun.append(said) or set_up(*said))
    options = Options(machine="tpu-v5e")
    assert len([*plans(read(LOOP, Options(language="shard")), load("tpu-v5e"), by_pass(options))]) > 3
    assert len(begun) == 1


def test_a_copy_of_a_module_is_as_if_it_had_been_read() -> None:
    held = snapshot(sharded(LOOP))
    clone = held.module.clone()
    mine, other = held.copied(clone), snapshot(clone)
    assert mine.graph == other.graph == held.graph
    assert all(one is two for one, two in zip(mine.ops, other.ops, strict=True))
    assert all(one is two for one, two in zip(mine.ssa, other.ssa, strict=True))
    value = mine.graph.main.body.args[0]
    mine.graph.values[value].sharding = replicated(next(iter(held.graph.meshes.values())), 3)
    mine.graph.main.result_shardings = []
    assert other.graph == held.graph


def bounds(machine: str, rates: Rates) -> Iterator[tuple[float, int]]:
    """Ticks that are known at first, and those of the plan, of some pairs of layouts in all phases."""
    mesh, draw = rates.mesh, random.Random(machine)
    for shape in ((64, 128), (6, 16)):
        type, atoms = TensorType(shape, "f32"), atoms_for(alone(mesh.several), (2,))
        prices, every = Prices(atoms, rates), [*shardings(mesh, atoms, 2)]
        for source, target in draw.sample([*product(every, every)], 80):
            for phase in PHASES:
                context = Context(NO_AXES, phase)
                exact = rates.copies(type, source, (target,), context)[0]
                yield prices(type, source, target, context)[0], exact


SHARES = (
    Combined("all-reduce", ("y",), 8, 1, AFTER),
    Combined("all-gather", ("y",), 4, 3, BEFORE),
    Combined("reduce-scatter", ("x",), 2, 1),
    Combined("permute", ("x",), 3, 1),
)


@pytest.mark.parametrize("machine", ["h100-infiniband", "tpu-v5e", "tpu-v4p", "laptop"])
def test_what_is_combined_takes_no_less_than_is_known(machine: str) -> None:
    rates = Rates(load(machine), Mesh("m", (("x", 2), ("y", 4))), SHARES)
    assert all(least <= exact * (1 + 1e-9) + 1 for least, exact in bounds(machine, rates))


@pytest.mark.parametrize("machine", ["tpu-v5e", "tpu-v4p"])
@pytest.mark.parametrize("rows", [1, 16, 256, 4096])
def test_on_a_torus_what_is_combined_takes_its_bytes(machine: str, rows: int) -> None:
    """They take longer than an eighth of its latency, and for many sizes not than all of it."""
    mesh, type = Mesh("m", (("y", 2),)), TensorType((rows, 512), "f32")
    rates = Rates(load(machine), mesh, (Combined("all-gather", ("y",), 8, 1, BEFORE),))
    source, target = Sharding(mesh, (Dim(), Dim(mesh.several))), replicated(mesh, 2)
    prices = Prices(atoms_for(alone(mesh.several), (2,)), rates)
    for context in (Context(NO_AXES, phase) for phase in PHASES):
        exact = rates.copies(type, source, (target,), context)[0]
        assert prices(type, source, target, context)[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("machine", ["tpu-v5e", "tpu-v4p"])
@pytest.mark.parametrize("rows", [4, 4096])
def test_a_permute_sends_to_the_next_device_at_least(machine: str, rows: int) -> None:
    mesh, type = Mesh("m", (("x", 2), ("y", 2))), TensorType((rows, 512), "f32")
    x, y = mesh.several
    source, target = (Sharding(mesh, (Dim(one), Dim(other))) for one, other in (((x,), (y,)), ((y,), (x,))))
    rates = Rates(load(machine), mesh)
    prices, exact = Prices(alone((x, y)), rates), rates.copies(type, source, (target,), PLAIN)[0]
    assert exact / 2 <= prices(type, source, target)[0] * (1 + 1e-6) <= exact * (1 + 2e-6)
