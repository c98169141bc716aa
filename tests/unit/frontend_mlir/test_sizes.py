"""get_dimension_size of a split tensor is the size of the tensor, in per-device code that of the block."""

from __future__ import annotations

import numpy as np

import shardc

TEXT = """sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<i32>, tensor<i32>) {
  %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<8x4xf32>) -> tensor<i32>
  %1 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, []>]
      manual_axes={"x"} (%b: tensor<4x4xf32>) {
    %2 = stablehlo.get_dimension_size %b, dim = 0 : (tensor<4x4xf32>) -> tensor<i32>
    sdy.return %2 : tensor<i32>
  } : (tensor<8x4xf32>) -> tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}
"""


def test_sizes_are_those_of_the_types() -> None:
    whole, block = shardc.compile(TEXT, target="numpy").main(np.zeros((8, 4), np.float32))
    assert (int(whole), int(block)) == (8, 4)
