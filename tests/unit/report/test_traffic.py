"""What the report counts is what the written program says and does."""

from __future__ import annotations

import re

import pytest

import shardc
from shardc.analysis.text import readable
from shardc.backend import numpy as numpy_backend
from shardc.backend.jax import emit
from shardc.graph import Graph
from shardc.report.cost import Cost
from shardc.report.cost import cost_of as cost_with


def cost_of(graph: Graph) -> Cost:
    return cost_with(graph, numpy_backend.peak(graph))


NAMES = ("megatron_mlp", "transformer_layer", "layers", "digits", "vocabulary", "matmul_reduce_scatter")


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_those_of_the_comments(example, name: str) -> None:
    graph = example(name)
    text = re.sub(r"\n +# ", " ", emit(graph))
    written = re.findall(r"([a-z-]+) over [\w, ]+?, ([\d.]+ \w+) sent per device", text)
    found = [(c.op, readable(c.bytes)) for c in cost_of(graph).collectives]
    assert sorted(set(found)) == sorted(set(written)) != []


def test_a_loop_counts_its_rounds(example) -> None:
    (reduction,) = cost_of(example("layers")).collectives
    assert (reduction.bytes, reduction.times, reduction.total) == (1536, 6, 9216)
    assert not reduction.at_least


LOOP = """
sdy.mesh @pod = <["data"=2, "model"=4]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@pod, [{}, {"model"}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %limit = stablehlo.constant dense<100.0> : tensor<f32>
  %r = stablehlo.while(%s = %zero) : tensor<8xf32>
  cond {
    %top = stablehlo.reduce(%s init: %none) applies stablehlo.maximum across dimensions = [0]
      : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %p = stablehlo.compare LT, %top, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %wide = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
    %y = stablehlo.add %x, %wide : tensor<8x16xf32>
    %e = stablehlo.exponential %y : tensor<8x16xf32>
    %t = stablehlo.reduce(%e init: %none) applies stablehlo.add across dimensions = [1]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    stablehlo.return %t : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
"""

BRANCHES = """
sdy.mesh @pod = <["data"=2, "model"=4]>
func.func @main(%i: tensor<i32>, %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@pod, [{}, {"model"}]>})
    -> tensor<8xf32> {
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.case"(%i) ({
    %t = stablehlo.reduce(%x init: %none) applies stablehlo.add across dimensions = [1]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    stablehlo.return %t : tensor<8xf32>
  }, {
    %z = stablehlo.constant dense<1.0> : tensor<8xf32>
    stablehlo.return %z : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
"""


def test_a_loop_that_data_end_counts_once() -> None:
    cost = shardc.cost(LOOP, tries=0)
    assert [(c.op, c.bytes, c.times, c.at_least) for c in cost.collectives] == [("all-reduce", 48, 1, True)]
    assert cost.at_least and cost.work.at_least and cost.bytes == 48


def test_of_branches_the_dearest_counts() -> None:
    cost = shardc.cost(BRANCHES, tries=0)
    assert [(c.bytes, c.times) for c in cost.collectives] == [(48, 1)]
    assert cost.bytes == 48 and not cost.at_least


def test_equal_collectives_are_one_entry(local_graph) -> None:
    text = (
        "def half(x: f32[8, 16], w: f32[16, 16]) -> f32[8, 16]:\n    return tanh(x @ w)\n"
        "def f(x: f32[8, 16@model], w: f32[16@model, 16]) -> f32[8, 16]:\n"
        "    return half(half(x, w), w)\n"
    )
    cost = cost_of(local_graph(text))
    assert sum(c.times for c in cost.collectives) >= 2
    assert cost.bytes == sum(c.bytes * c.times for c in cost.collectives)


def test_what_the_program_calls_itself(example) -> None:
    (own,) = cost_of(example("matmul_basic")).collectives
    assert own.from_source and own.reason == "the program calls it"


def test_matmul_operations(local_graph) -> None:
    text = "def f(x: f32[32@data, 64], w: f32[64, 128@model]):\n    return relu(x @ w)\n"
    work = cost_of(local_graph(text)).work
    assert work.matmul == 2 * 16 * 64 * 32
    assert work.all == work.matmul + 16 * 32
    assert work.matmul_by_dtype == (("f32", work.matmul),)


def test_operations_of_a_loop(example) -> None:
    assert cost_of(example("layers")).work.matmul == 6 * 2 * (2 * 8 * 32 * 16)
