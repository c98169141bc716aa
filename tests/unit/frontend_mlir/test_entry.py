"""--entry of a module: another function than @main."""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.tolerance import assert_near

TEXT = """sdy.mesh @m = <["x"=2]>
func.func public @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func public @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {
  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "x.g" %0 {decomposition = @g} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "x.main" %a {decomposition = @main} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.exponential %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @main_0(%a: tensor<4xf32>) -> tensor<4xf32>
"""
GIVEN = np.array([0.0, 1.0, 2.0, 3.0], np.float32)


@pytest.mark.parametrize(
    ("entry", "expected"), [(None, -GIVEN), ("main", -GIVEN), ("f", np.exp(GIVEN)), ("g", np.exp(-GIVEN))]
)
def test_the_function_asked_for(entry: str | None, expected: np.ndarray) -> None:
    found = shardc.compile(TEXT, target="numpy", entry=entry).main(GIVEN)
    assert_near(found, expected)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("h", "has no function @h"),
        ("m", "has no function @m"),
        ("main_0", "has no body"),
    ],
)
def test_none_to_be_compiled(entry: str, text: str) -> None:
    with pytest.raises(ShardcError, match=text) as error:
        shardc.compile(TEXT, entry=entry)
    assert error.value.diagnostic.hint is not None
