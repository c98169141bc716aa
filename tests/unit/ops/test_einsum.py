"""stablehlo.einsum and chlo.mulhi from text to what devices compute."""

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError

MESH = 'sdy.mesh @m = <["x"=4, "y"=2]>\n'
SPLIT = "{sdy.sharding = #sdy.sharding<@m, [%s]>}"
PRODUCT = """
func.func @main(%%a: tensor<8x16xf32> %s, %%b: tensor<16x4xf32>) -> tensor<4x8xf32> {
  %%0 = stablehlo.einsum %%a, %%b, config = "%s" : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<4x8xf32>
  return %%0 : tensor<4x8xf32>
}
"""
HALVES = """
func.func @main(%%a: tensor<8xui64> %s) -> tensor<8xui64> {
  %%0 = chlo.mulhi %%a, %%a : tensor<8xui64>, tensor<8xui64> -> tensor<8xui64>
  return %%0 : tensor<8xui64>
}
"""


def ran(text, *arrays):
    return load(shardc.compile(MESH + text, file="x.mlir", target="numpy").source)["main"](*arrays)


def load(source):
    names: dict[str, Any] = {"__name__": "compiled"}
    exec(source, names)
    return names


@pytest.mark.parametrize("dims", ['{"y"}, {"x"}', '{}, {"x", "y"}', '{"x"}, {}'])
def test_a_split_einsum(dims):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (8, 16)).astype(np.float32), rng.integers(-4, 5, (16, 4)).astype(np.float32)
    got = ran(PRODUCT % (SPLIT % dims, "ij,jk->ki"), a, b)
    np.testing.assert_array_equal(got, (a @ b).T)


def test_a_wrong_config_is_named_with_its_place():
    with pytest.raises(ShardcError, match=r"x\.mlir:\d+:\d+.*einsum has no operand with z"):
        shardc.compile(MESH + PRODUCT % (SPLIT % "{}, {}", "ij,jk->zi"), file="x.mlir", target="numpy")


def test_split_upper_halves():
    a = np.array([1, 2**32, 2**63, 2**64 - 1, 3 * 2**62, 5, 2**40, 7], np.uint64)
    got = ran(HALVES % (SPLIT % '{"x"}'), a)
    assert got.tolist() == [int(x) ** 2 >> 64 for x in a]
