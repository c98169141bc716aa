"""Operations on one device of several have the same results everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.tolerance import assert_near

TEXT = """sdy.mesh @m = <["x"=4]>
sdy.mesh @one = <[], device_ids=[DEVICE]>
func.func @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.exponential %a {ALONE} : tensor<4x2xf32>
  %1 = stablehlo.reverse %0, dims = [0] {ALONE} : tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}
""".replace("ALONE", "sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>")


def test_every_device_has_the_result() -> None:
    given = np.arange(8, dtype=np.float32).reshape(4, 2)
    program = shardc.compile(TEXT.replace("DEVICE", "2"), target="numpy")
    assert_near(program.main(given), np.exp(given)[::-1])
    assert [each.loc.line for each in program.warnings if "to run on device 2 alone" in each.message] == [
        5,
        6,
    ]


def test_a_device_that_the_mesh_has_not() -> None:
    with pytest.raises(ShardcError, match=r"the program uses mesh m\[x=4\] and mesh one\[\]"):
        shardc.compile(TEXT.replace("DEVICE", "4"))
