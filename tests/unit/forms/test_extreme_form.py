"""argmax and argmin over split dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder, program
from shardc.graph import TensorType, identity
from shardc.layout import Mesh
from shardc.ops import combiner

SIX = Mesh("m", (("x", 2), ("y", 3)))
RNG = np.random.default_rng(0)


def arg(direction: str, shape: tuple[int, ...], dtype: str, first: bool = True) -> Any:
    """A reduce of (value, index) pairs; with `first` of equal values the smaller index wins."""
    scalars = [TensorType((), dtype), TensorType((), "i32")] * 2

    def better(b: GraphBuilder, a: int, i: int, c: int, j: int) -> list[int]:
        wins = b.one("stablehlo.compare", a, c, comparison_direction=direction)
        tie = b.one("stablehlo.compare", a, c, comparison_direction="EQ")
        less = b.one("stablehlo.compare", i, j, comparison_direction="LT" if first else "GT")
        index = b.one("stablehlo.or", wins, b.one("stablehlo.and", tie, less))
        return [b.one("stablehlo.select", wins, a, c), b.one("stablehlo.select", index, i, j)]

    def body(b: GraphBuilder, *args: int) -> list[int]:
        results = [TensorType(shape[:-1], dtype), TensorType(shape[:-1], "i32")]
        return b.op("stablehlo.reduce", *args, results=results, regions=[(scalars, better)], dimensions=(1,))

    whole = [TensorType(shape, dtype), TensorType(shape, "i32")]
    return program([*whole, *scalars[:2]], body)


@pytest.mark.parametrize("shape", [(4, 6), (4, 7), (2, 3)])
@pytest.mark.parametrize(("direction", "kind"), [("GT", "max"), ("LT", "min")])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_first_of_the_extreme_ones(
    shape: tuple[int, int], direction: str, kind: str, dtype: str, check_forms: Any
) -> None:
    graph = arg(direction, shape, dtype)
    start = np.asarray(identity(kind, dtype), TensorType((), dtype).numpy)
    values = RNG.integers(0, 3, shape).astype(start.dtype)
    values[0] = start
    index = np.broadcast_to(np.arange(shape[1], dtype=np.int32), shape)
    choices = check_forms(graph, [values, index, start, np.int32(0)], SIX)
    extreme = [c for c in choices if c.form == "extreme"]
    assert extreme
    assert all(c.collectives == 2 for c in extreme)


def test_other_regions_are_not_taken_for_argmax() -> None:
    for graph, kind in ((arg("GT", (4, 6), "f32"), "argmax"), (arg("GT", (4, 6), "f32", first=False), None)):
        (reduce, _) = graph.main.body.nodes
        assert combiner(reduce.regions[0], graph) == kind
