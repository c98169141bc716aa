"""What is made from constants alone: each device makes its own block, and that takes time."""

from __future__ import annotations

import pytest

import shardc
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.search import improve

KERNEL = """
mesh pod[x=8]

def main(a: f32[2048@x, 2048]) -> f32[2048@x, 2048]:
    n = arange(2048, dtype=f32)
    kernel = exp(0.0 - (n[:, None] - n) * (n[:, None] - n) / 2048.0)
    return a * kernel / sum(kernel, axis=0)
"""
DIAGONAL = """
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(
      %a: tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}
  ) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2048x2048xf32>
    %ones = stablehlo.constant dense<1.0> : tensor<2048xf32>
    %i = stablehlo.iota dim = 0 : tensor<2048x1xi32>
    %places = stablehlo.concatenate %i, %i, dim = 1
      : (tensor<2048x1xi32>, tensor<2048x1xi32>) -> tensor<2048x2xi32>
    %eye = "stablehlo.scatter"(%zeros, %places, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) : (tensor<2048x2048xf32>, tensor<2048x2xi32>, tensor<2048xf32>) -> tensor<2048x2048xf32>
    %less = stablehlo.negate %eye : tensor<2048x2048xf32>
    %sum = stablehlo.reduce(%less init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
    %all = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
    %b = stablehlo.add %a, %eye : tensor<2048x2048xf32>
    %c = stablehlo.multiply %b, %all : tensor<2048x2048xf32>
    return %c : tensor<2048x2048xf32>
  }
}
"""


@pytest.mark.parametrize(("text", "language"), [(KERNEL, "shard"), (DIAGONAL, "mlir")])
def test_what_is_summed_is_divided(text: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of what is made is no block of it: one collective of 2048 numbers spares seven eighths."""
    before = list[int]()

    def follow(problem: Problem) -> None:
        before.append(problem.total()[0])
        followed(problem)
        assert problem.total()[0] == before[-1]

    followed = improve.follow
    monkeypatch.setattr(improve, "follow", follow)
    cost = shardc.cost(text, language=language, machine="balanced", tries=0)
    assert before and [each.times for each in cost.collectives] == [1]
    assert cost.repeated is None
    each = 2048 * 2048 // 8
    assert cost.work.all < 14 * each
