"""Sorts, functions, choices and other kinds of work have rates of their own on machines that say so."""

from __future__ import annotations

from math import inf

import pytest
from msgspec.structs import replace

from shardc.graph import Op, TensorType
from shardc.ops import find
from shardc.ops.definition import Rate
from shardc.planning.machines import Machine, load
from shardc.planning.program.costs.fusion import Traffic
from shardc.planning.program.costs.work import op_work

ROWS = TensorType((4, 1000), "f32")
ONE = TensorType((), "f32")


def rate(name: str, operands: int, result: TensorType, combiner: str | None = None, **attrs: object) -> Rate:
    op = Op(name, (ROWS,) * operands + (ONE,) * operands, (result,) * operands, attrs, combiner)
    definition = find(name)
    assert definition is not None
    return definition.work.rate(op)


@pytest.mark.parametrize(("dimension", "halvings"), [(1, 10), (0, 2)])
def test_a_sort_compares_its_rows(dimension: int, halvings: int):
    op = Op("stablehlo.sort", (ROWS,), (ROWS,), {"dimension": dimension})
    work = op_work(op, Traffic((0,), (0,)), load("laptop"))
    assert work is not None
    assert (work.operations, work.rate) == (4000 * halvings, Rate.SORT)
    machine = load("laptop")
    memory = 2 * 4 * 4000 / machine.bandwidth
    assert work.seconds(machine) == pytest.approx(4000 * halvings / machine.flops["sort"] + memory)


def test_machines_without_a_rate_take_that_of_all_else():
    machine = load("h100-infiniband")
    assert machine.work(1e6, Rate.SERIAL, 0) == machine.work(1e6, Rate.OTHER, 0)
    assert machine.work(1e6, Rate.SORT, 0) > machine.work(1e6, Rate.OTHER, 0)
    laptop = load("laptop")
    assert laptop.work(1e6, Rate.ARGMAX, 0) == laptop.work(1e6, Rate.SERIAL, 0)
    assert laptop.work(1e6, Rate.SERIAL, 0) > laptop.work(1e6, Rate.OTHER, 0)


def test_which_reductions_are_serial():
    short = TensorType((4,), "f32")
    assert rate("stablehlo.reduce", 1, short, "sum", dimensions=(1,)) is Rate.OTHER
    assert rate("stablehlo.reduce", 2, short, "argmax", dimensions=(1,)) is Rate.ARGMAX
    window = {"window_dimensions": (1, 1000), "padding": ((0, 0), (999, 0))}
    assert rate("stablehlo.reduce_window", 1, ROWS, "sum", **window) is Rate.SERIAL
    window = {"window_dimensions": (1, 10), "padding": ((0, 0), (9, 0))}
    assert rate("stablehlo.reduce_window", 1, ROWS, "sum", **window) is Rate.OTHER


def machine_with(**flops: float) -> Machine:
    """The laptop, with other rates; memory takes no time."""
    return replace(load("laptop"), bandwidth=inf, flops={"other": 1e9, **flops})


def seconds(name: str, machine: Machine, *operands: TensorType) -> float:
    work = op_work(Op(name, operands, (ROWS,), {}), Traffic((0,), (0,)), machine)
    assert work is not None
    return work.seconds(machine)


@pytest.mark.parametrize("name", ["exponential", "tanh", "rsqrt", "power"])
def test_functions_have_a_rate(name: str):
    assert seconds(f"stablehlo.{name}", machine_with(function=1e8), ROWS) == pytest.approx(4e-5)
    assert seconds(f"stablehlo.{name}", machine_with(choice=1e8), ROWS) == pytest.approx(4e-6)
    assert seconds("stablehlo.add", machine_with(function=1e8), ROWS, ROWS) == pytest.approx(4e-6)


@pytest.mark.parametrize(("name", "otherwise"), [("maximum", 4e-6), ("clamp", 4e-6), ("select", 0.0)])
def test_choices_have_a_rate(name: str, otherwise: float):
    """Selections take no time on machines without it, and are no arithmetic anywhere."""
    operands = {"maximum": (ROWS, ROWS), "clamp": (ONE, ROWS, ONE), "select": (ROWS, ROWS, ROWS)}[name]
    assert seconds(f"stablehlo.{name}", machine_with(choice=1e8), *operands) == pytest.approx(4e-5)
    assert seconds(f"stablehlo.{name}", machine_with(function=1e8), *operands) == pytest.approx(otherwise)


def test_products_read_and_write_at_a_rate_of_their_own():
    machine = replace(load("laptop"), bandwidth=1e9, multiplied=1e8, flops={"other": inf})
    assert machine.work(0, "f32", 1000) == pytest.approx(1e-5)
    for rate in Rate:
        assert machine.work(0, rate, 1000) == pytest.approx(1e-6)
    assert replace(machine, multiplied=None).work(0, "f32", 1000) == pytest.approx(1e-6)
