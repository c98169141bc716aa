"""Shardings as JAX and XLA wrote them before Shardy."""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read
from tests.tolerance import assert_sums

MODULE = """module @m attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main(%%x: tensor<8x16xf32> {mhlo.sharding = "%s"}) -> tensor<8x16xf32> {
    %%0 = stablehlo.tanh %%x : tensor<8x16xf32>
    return %%0 : tensor<8x16xf32>
  }
}
"""


def test_an_old_program_is_split():
    program = shardc.compile(
        MODULE % "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", target="numpy"
    )
    assert "f32[2, 16] of f32[8@x1, 16]" in program.source
    x = np.arange(128, dtype=np.float32).reshape(8, 16) / 128
    assert_sums(program.main(x), np.tanh(x.astype(np.float64)), 1, 0.0, "f32")


def test_devices_in_no_order_of_digits_are_those_of_the_mesh():
    text = print_module(read(MODULE % "{devices=[8,1]0,1,2,3,7,6,5,4}"))
    assert 'sdy.mesh @mesh = <["x0"=8], device_ids=[0, 1, 2, 3, 7, 6, 5, 4]>' in text


def test_a_mesh_of_as_many_devices_is_used():
    text = MODULE % "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
    text = text.replace("  func", '  sdy.mesh @pod = <["data"=2, "model"=4]>\n  func', 1)
    assert '#sdy.sharding<@pod, [{"data"}, {}]>' in print_module(read(text))


def test_a_maximal_one_has_its_own_mesh():
    text = print_module(read(MODULE % "{maximal device=3}"))
    assert "sdy.mesh @maximal_mesh_3 = <[], device_ids=[3]>" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{devices=[2,1,4]<=[8] last_tile_dims={manual}}", "subgroups of kind manual"),
        ("{manual}", "{manual} has no layout"),
        ("{unknown}", "{unknown} has no layout"),
        ("{devices=[2,1]<=[2]}", r"is of 2 devices, where the program has 8"),
        ("{devices=[2,4]<=[8] last_tile_dim_replicate}", r"has 1 dimensions, the tensor 2"),
        ("{devices=[2,1,4]<=[8] shard_as 1}", "cannot read 'shard_as 1'"),
        ("devices", "HLO shardings are in braces"),
    ],
)
def test_what_cannot_be_read_is_an_error(text, message):
    with pytest.raises(ShardcError, match=message) as caught:
        read(MODULE % text, "a.mlir")
    assert str(caught.value).startswith("a.mlir:2:")


def test_per_device_code_is_an_error():
    call = '%0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : '
    text = (MODULE % "{replicated}").replace("%0 = stablehlo.tanh %x : ", call + "(tensor<8x16xf32>) -> ")
    with pytest.raises(ShardcError, match="print the program with Shardy"):
        read(text)


BOTH = """module {{
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(
    %a: tensor<8x8xf32> {{mhlo.sharding = "{old}", sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}
  ) -> tensor<8x8xf32> {{
    return %a : tensor<8x8xf32>
  }}
}}
"""


def test_two_shardings_of_a_value_are_alike():
    read(BOTH.format(old="{devices=[2,1,2]<=[4] last_tile_dim_replicate}"))
    for old in (
        "{devices=[1,4]<=[4]}",
        "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
        "{replicated}",
    ):
        with pytest.raises(ShardcError, match="contradict each other") as error:
            read(BOTH.format(old=old))
        assert error.value.diagnostic.loc.line == 4
