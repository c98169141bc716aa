"""Operations on one device of several have the same results everywhere."""

from __future__ import annotations

import re

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


@pytest.mark.parametrize("name", ["sharding_constraint", "reshard"])
def test_a_constraint_to_one_device(name: str) -> None:
    given = np.arange(8, dtype=np.float32).reshape(4, 2)
    text = TEXT.replace("DEVICE", "2").replace("%1 = stablehlo.reverse %0, dims = [0] {", "{")
    text = re.sub(r"\{sdy.sharding = .*per_value<\[<@one.*\} : ", ": ", text)
    text = text.replace("  :", f"  %1 = sdy.{name} %0 <@one, []> :")
    program = shardc.compile(text, target="numpy")
    assert_near(program.main(given), np.exp(given))
    assert [each.loc.line for each in program.warnings if "to run on device 2 alone" in each.message] == [6]


def test_a_device_that_the_mesh_has_not() -> None:
    with pytest.raises(ShardcError, match=r"uses mesh m\[x=4\] and mesh one\[\] of device 4 alone") as caught:
        shardc.compile(TEXT.replace("DEVICE", "4"))
    assert "without a sharding on one device, every device holds the value" in str(caught.value)


@pytest.mark.parametrize(
    "change", ['sdy.reshard %a <@t, [{}, {"x"}]>', 'sdy.collective_permute %a out_sharding=<@t, [{"x"}, {}]>']
)
def test_meshes_of_two_orders(change: str) -> None:
    text = f"""sdy.mesh @m = <["x"=4]>
sdy.mesh @t = <["x"=4], device_ids=[3, 2, 1, 0]>
func.func @main(
    %a: tensor<4x4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) -> tensor<4x4xf32> {{
  %0 = {change} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}}
"""
    with pytest.raises(
        ShardcError, match=r"mesh m\[x=4\].*mesh t\[x=4\] of devices 3, 2, 1, 0; a compiled"
    ) as caught:
        shardc.compile(text)
    assert caught.value.diagnostic.loc.line == 5
