"""Sorts, and what takes elements one after the other, have rates of their own on machines that say so."""

from __future__ import annotations

import pytest

from shardc.graph import Op, TensorType
from shardc.ops import find
from shardc.ops.definition import Rate
from shardc.planning.machines import load
from shardc.planning.program.fusion import Traffic
from shardc.planning.program.rates import op_work

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
