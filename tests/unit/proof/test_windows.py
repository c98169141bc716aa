"""Windows: folded by halves they are what they are element by element, and what they select is proved."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.frontend.text import read as read_text
from shardc.graph import Graph
from shardc.passes.pipeline import run_to
from shardc.proof.effort import effort
from shardc.proof.prove import Verdict, prove
from shardc.proof.window_folds import folded
from shardc.semantics.windows import reduce_window_with


def _body(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    return [a + b]


@pytest.mark.parametrize("seed", range(60))
def test_folds_are_what_windows_reduce_to(seed: int) -> None:
    """Of integers, so sums are exact, with every kind of padding, stride and dilation."""
    random = Random(seed)
    rank = random.randint(1, 3)
    array = np.random.default_rng(seed).integers(-9, 9, [random.randint(1, 9) for _ in range(rank)])

    def drawn(least: int, most: int) -> Sequence[int]:
        return [random.randint(least, most) for _ in range(rank)]

    geometry: dict[str, Any] = {
        "window_dimensions": drawn(1, 7),
        "window_strides": random.choice([None, drawn(1, 3)]),
        "base_dilations": random.choice([None, drawn(1, 2)]),
        "window_dilations": random.choice([None, drawn(1, 2)]),
        "padding": random.choice([None, list(zip(drawn(-1, 6), drawn(0, 6), strict=True))]),
    }
    init = np.asarray(random.choice([0, 5]))
    (wanted,) = reduce_window_with([array], [init], _body, **geometry)
    np.testing.assert_array_equal(folded(array, init, _body, **geometry), wanted)


POOL = """module {{
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(
    %a: tensor<4x8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{"y"}}]>}},
    %b: tensor<4x4x4xf32>
  ) -> tensor<4x8x4xf32> {{
    %zero = stablehlo.constant dense<{start}> : tensor<f32>
    %0 = "stablehlo.select_and_scatter"(%a, %b, %zero) <{{
      window_dimensions = array<i64: 1, {length}, 1>, window_strides = array<i64: 1, 2, 1>,
      padding = dense<[[0, 0], [{low}, {high}], [0, 0]]> : tensor<3x2xi64>
    }}> ({{
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %p = stablehlo.compare {direction}, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }}, {{
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.{combine} %c, %d : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<4x8x4xf32>, tensor<4x4x4xf32>, tensor<f32>) -> tensor<4x8x4xf32>
    return %0 : tensor<4x8x4xf32>
  }}
}}
"""
RIGHT = {"start": "0.0", "length": 3, "low": 0, "high": 1, "direction": "GE", "combine": "add"}


def _graphs(**other: object) -> tuple[Graph, Graph]:
    whole, local = (read(POOL.format(**each)) for each in (RIGHT, RIGHT | other))
    run_to(make_context(), local, "local")
    return snapshot(whole).graph, snapshot(local).graph


def test_the_gradient_of_pooling_is_proved() -> None:
    assert prove(*_graphs()).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    "other",
    [
        {"start": "1.0"},
        {"low": 1, "high": 0},
        {"direction": "LE"},
        {"direction": "GT"},
        {"combine": "maximum"},
        {"length": 2, "high": 0},
    ],
)
def test_other_gradients_of_pooling_differ(other: dict[str, object]) -> None:
    """GT takes the last of equal elements, GE the first."""
    assert prove(*_graphs(**other)).verdict is Verdict.DIFFERS


ARGMAX = """mesh m[x=4]
def f(a: f32[8, {size}@x]) -> i32[8]:
    return argmax(a, axis=1)
"""


def test_the_work_of_a_reduction_is_that_of_its_body() -> None:
    few, many = (
        effort(snapshot(read_text(ARGMAX.format(size=size), "test.shard", {}, None)).graph)
        for size in (1 << 10, 1 << 14)
    )
    assert many > 6 * few
