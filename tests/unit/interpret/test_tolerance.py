"""The bound on rounding errors holds for sums in other orders, and for nothing much larger."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder
from shardc.graph import Graph, Op, TensorType
from shardc.interpret.run import run
from shardc.interpret.tolerance import UNIT, bound
from shardc.interpret.wide import run_wide, widened
from shardc.ops import Trait, definitions
from tests.tolerance import assert_near


@pytest.mark.parametrize("terms", [1, 16, 256, 4096])
def test_sums_in_another_order(terms: int) -> None:
    rng = np.random.default_rng(terms)
    a, b = (rng.uniform(-4, 4, (100, terms)).astype(np.float32) for _ in range(2))
    exact = (a.astype(np.float64) * b).sum(1)
    total = np.zeros(100, np.float32)
    for column in range(terms):
        total += a[:, column] * b[:, column]
    error = np.abs(total - exact).max()
    magnitude = float((np.abs(a) * np.abs(b)).sum(1).max())
    assert error <= bound(terms, "f32", magnitude) < 2e-5 * magnitude


def test_narrow_floats_are_summed_in_f32() -> None:
    assert bound(4096, "bf16") < 8 * UNIT["bf16"]
    assert bound(4096, "bf16", parts=8) > bound(4096, "bf16")
    assert bound(10, "i32") == 0


EXAMPLES = [
    definition.example
    for definition in definitions()
    if definition.example is not None
    and definition.meaning is not None
    and definition.has(Trait.ELEMENTWISE)
    and definition.name != "stablehlo.bitcast_convert"
]


@pytest.mark.parametrize("op", EXAMPLES, ids=lambda op: op.name)
def test_operations_in_f64(op: Op) -> None:
    """An operation on f64 is what it is on f32, to f32's precision."""
    graph = one_operation(op)
    rng = np.random.default_rng(0)
    arrays = [_small(rng, type) for type in op.operands]
    for wide, own in zip(run_wide(graph, arrays), run(graph, arrays), strict=True):
        assert wide.dtype == widened(own).dtype
        assert_near(wide, widened(own), terms=64, dtype="f32")


def _small(rng: np.random.Generator, type: TensorType) -> np.ndarray:
    if type.dtype == "bool" or not type.dtype.startswith(("f", "bf", "c")):
        return rng.integers(0, 2, type.shape).astype(type.numpy)
    return rng.uniform(0.2, 0.8, type.shape).astype(type.numpy)


def one_operation(op: Op) -> Graph:
    def body(builder: GraphBuilder, *values: int) -> list[int]:
        return builder.op(op.name, *values, results=op.results, regions=(), **op.attrs)

    recorder = GraphBuilder()
    recorder.function("main", op.operands, body)
    return recorder.graph
