"""Random integers that index a dimension are below its size, and reach all of it."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read as read_mlir
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.interpret.arguments import arguments
from shardc.interpret.index_bounds import index_bounds


def _program(body: str) -> Graph:
    text = "mesh m[x=2]\ndef main(t: f32[40, 64], i: i32[3], j: i32[], u: f32[3, 64]):\n" + "".join(
        f"    {line}\n" for line in body.split("; ")
    )
    return snapshot(read(text, "test.shard", {}, "main")).graph


@pytest.mark.parametrize(
    ("body", "of_i", "of_j"),
    [
        ("return take(t, i, 0)", 40, None),
        ("return take(transpose(t), i, 0)", 64, None),
        ("return take(t, where(i < 20, i, 0), 0)", 40, None),
        ("return take(t, broadcast_to(reshape(i, (3, 1)), (3, 2)), 1)", 64, None),
        ("return take(t, concatenate([i, i]), 0) + t[j]", 40, 40),
        ("return dynamic_slice(t, (j, 0), (8, 64))", None, 33),
        ("return dynamic_update_slice(t, u, (j, 0)), i", None, 38),
        ("return where(arange(40) <= j, t[:, 0], 0.0)", None, 40),
        ("return i[:, None] == arange(16)", 16, None),
        ("return t * j, i + 1", None, None),
    ],
)
def test_bounds_follow_from_the_graph(body: str, of_i: int | None, of_j: int | None) -> None:
    graph = _program(body)
    assert index_bounds(graph)[1:3] == [of_i, of_j]
    drawn = arguments(graph, None)[1:3]
    for array, bound in zip(drawn, (of_i, of_j), strict=True):
        assert 0 <= int(np.min(array)) and int(np.max(array)) < (bound or 8)


def test_each_part_of_an_index_has_its_own_dimension() -> None:
    """As JAX writes x[i, j], with what it does to negative indices."""
    text = """
func.func public @main(%x: tensor<50x6xf32>, %i: tensor<9xi32>, %j: tensor<9xi32>) -> tensor<9xf32> {
  %n = stablehlo.constant dense<50> : tensor<9xi32>
  %z = stablehlo.constant dense<0> : tensor<9xi32>
  %below = stablehlo.compare LT, %i, %z : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1>
  %more = stablehlo.add %i, %n : tensor<9xi32>
  %own = stablehlo.select %below, %more, %i : tensor<9xi1>, tensor<9xi32>
  %a = stablehlo.reshape %own : (tensor<9xi32>) -> tensor<9x1xi32>
  %b = stablehlo.reshape %j : (tensor<9xi32>) -> tensor<9x1xi32>
  %at = stablehlo.concatenate %a, %b, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>
  %r = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
    start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}>
    : (tensor<50x6xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}
"""
    assert index_bounds(snapshot(read_mlir(text, "test.mlir")).graph) == [None, 50, 6]


def test_narrow_integers_stay_what_they_can_be() -> None:
    text = "mesh m[x=2]\ndef main(t: f32[400, 2], i: i8[500]):\n    return take(t, i, 0)\n"
    graph = snapshot(read(text, "test.shard", {}, "main")).graph
    drawn = arguments(graph, None)[1]
    assert drawn.min() >= 0 and drawn.max() > 100
