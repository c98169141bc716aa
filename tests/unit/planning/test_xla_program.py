"""What XLA's programs are priced at."""

from __future__ import annotations

import pytest

from bench.xla_program import price
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.layout import Mesh
from shardc.options import Options
from shardc.planning.machines import load

STAYS = "({ stablehlo.return %arg1 : tensor<8xf32> }"
ADDED = """({
  %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
    replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
    %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  stablehlo.return %1 : tensor<8xf32>
}"""


@pytest.mark.parametrize("branches", [(STAYS, ADDED), (ADDED, STAYS)])
def test_a_branch_with_collectives_counts(branches: tuple[str, str]):
    first, second = branches
    text = f"""
func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = "stablehlo.if"(%arg0) {first}, {second[1:]}) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}
"""
    graph = snapshot(read(text, Options(language="mlir"))).graph
    assert price(graph, Mesh("m", (("x", 4),)), load("balanced")).collectives == 1
