"""Collectives between numbered devices that cannot be said over axes of the mesh: an error at the line."""

from __future__ import annotations

import pytest

import shardc
from shardc.diagnostics import ShardcError

AROUND = """sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[SPEC] out_shardings=[SPEC] OVER (%b: tensor<4xf32>) {{
    {}
    sdy.return %1 : tensor<4xf32>
  }} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}
""".replace("SPEC", '<@m, [{{"x", ?}}]>').replace("OVER", 'manual_axes={{"x"}}')
SUM = """"stablehlo.all_reduce"(%b) <{replica_groups = dense<GROUPS> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>"""

WRONG = {
    "over another axis": (
        "%1 = " + SUM.replace("GROUPS", "[[0, 1], [2, 3]]"),
        "4:5: error: all_reduce over y, which this code is not written per device of",
    ),
    "along no axis": (
        "%1 = " + SUM.replace("GROUPS", "[[0, 3], [1, 2]]"),
        "4:5: error: the groups of all_reduce do not lie along axes of mesh m[x=2, y=2]: [0, 3], [1, 2]",
    ),
    "a device twice": (
        "%1 = " + SUM.replace("GROUPS", "[[0, 1], [1, 2]]"),
        "4:5: error: the groups of all_reduce do not lie along axes",
    ),
    "groups of different sizes": (
        "%1 = " + SUM.replace("GROUPS", "[[0, 2, 1], [3, -1, -1]]").replace("2x2xi64", "2x3xi64"),
        "4:5: error: the groups of all_reduce are of different sizes: [0, 2, 1], [3]\n",
    ),
    "a device that is not there": (
        "%1 = " + SUM.replace("GROUPS", "[[0, 1], [2, 4]]"),
        "4:5: error: all_reduce names devices that mesh m[x=2, y=2] does not have",
    ),
    "a combination of its own": (
        "%1 = " + SUM.replace("GROUPS", "[[0, 2], [1, 3]]").replace("stablehlo.add", "stablehlo.subtract"),
        "4:5: error: all_reduce combines by a function that is no sum",
    ),
    "pairs along another axis": (
        '%1 = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> '
        ": (tensor<4xf32>) -> tensor<4xf32>",
        "4:5: error: the pairs of collective_permute do not lie along x",
    ),
    "pairs of some devices only": (
        '%1 = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> '
        ": (tensor<4xf32>) -> tensor<4xf32>",
        "note: devices that differ only along other axes must send alike",
    ),
    "the position along another axis": (
        "%n = stablehlo.partition_id : tensor<ui32>\n    "
        "%two = stablehlo.constant dense<2> : tensor<ui32>\n    "
        "%m = stablehlo.remainder %n, %two : tensor<ui32>\n    "
        "%f = stablehlo.convert %m : (tensor<ui32>) -> tensor<f32>\n    "
        "%1 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>",
        "6:5: error: the device's position along y, which this code is not written per device of",
    ),
    "one axis twice": (
        "%1 = sdy.manual_computation(%b) in_shardings=[<@m, [{}]>] out_shardings=[<@m, [{}]>] "
        'manual_axes={"x"} '
        "(%c: tensor<4xf32>) { sdy.return %c : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>",
        '4:5: error: sdy.manual_computation names axis "x", which is manual here: '
        "this code is of one device along x",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_collective(name: str) -> None:
    line, expected = WRONG[name]
    with pytest.raises(ShardcError) as error:
        shardc.compile(AROUND.format(line), file="f.mlir")
    assert expected in str(error.value)


def test_outside_of_per_device_code() -> None:
    text = "func.func @main(%b: tensor<4xf32>) -> tensor<4xf32> {\n%1 = SUM\nreturn %1 : tensor<4xf32>\n}"
    with pytest.raises(ShardcError, match="between numbered devices outside per-device code"):
        shardc.compile(text.replace("SUM", SUM.replace("GROUPS", "[[0, 2], [1, 3]]")))


def test_the_number_outside_of_per_device_code() -> None:
    text = """sdy.mesh @m = <["x"=2]>
func.func @main() -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}"""
    with pytest.raises(ShardcError, match="3:3: error: the device's number outside per-device code"):
        shardc.compile(text, file="f.mlir")


def test_what_jax_calls_no_value() -> None:
    """The location of a block that shard_map takes is "shard_map:", which is no name of it."""
    text = AROUND.format("%1 = " + SUM.replace("GROUPS", "[[0, 2], [1, 3]]")).replace('{{"x", ?}}', "{{}}")
    text = text.replace("%b: tensor<4xf32>)", '%b: tensor<8xf32> loc("shard_map:"("f.py":1:1)))').replace(
        "tensor<4xf32>", "tensor<8xf32>"
    )
    (warning,) = shardc.compile(text.replace('{"x", ?}', "{}"), file="f.mlir").warnings
    assert warning.message.endswith("so it becomes 2 times as large: b: f32[8]{same}")
