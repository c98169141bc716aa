"""Groups of devices as XLA writes them, and the bench's StableHLO with these groups."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.xla_program import graph_of, price
from bench.xla_text import groups, mended, readable
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.layout import Mesh
from shardc.options import Options
from shardc.planning.machines import load

ROWS = ((0, 1, 2, 3), (4, 5, 6, 7))
COLUMNS = ((0, 4), (1, 5), (2, 6), (3, 7))
HALVES = ((0, 2), (1, 3), (4, 6), (5, 7))


@pytest.mark.parametrize(
    ("written", "rows"),
    [
        ("{{0,1,2,3},{4,5,6,7}}", ROWS),
        ("[2,4]<=[8]", ROWS),
        ("[4,2]<=[2,4]T(1,0)", COLUMNS),
        ("mesh['a'=2,'b'=4] {'b'}", ROWS),
        ("mesh['a'=2,'b'=4] {'a'}", COLUMNS),
        ("mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'a'}", ROWS),
        ("mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}", COLUMNS),
        ("mesh['a'=2,'b'=4] {'b':(1)2}", HALVES),
        ("mesh['a'=2,'b'=4] {'b','a'}", ((0, 4, 1, 5, 2, 6, 3, 7),)),
    ],
)
def test_groups(written: str, rows: tuple[tuple[int, ...], ...]):
    assert groups(written) == rows


@pytest.mark.parametrize("written", ["flattened", "mesh['a'=4], device_ids=(one) {'a'}"])
def test_groups_that_nobody_knows(written: str):
    with pytest.raises(ValueError, match="cannot read"):
        groups(written)


HLO = """
  all-reduce.2 = f32[] all-reduce(reduce.2), channel_id=3, replica_groups=mesh['a'=4,'b'=2], \
device_ids=([2,4]T(1,0)) {'a'}, use_global_device_ids=true, to_apply=region_2.3.clone
"""
CONVERTED = """
    %29 = "stablehlo.all_reduce"(%28) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, \
replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "a">]>, \
use_global_device_ids}> ({
"""


LACKING = """
func.func @main(%arg0: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x3xf32>) {
  %0 = mhlo.copy %arg0 {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[2,3]{0,1}"} : \
tensor<2x3xf32>
  %1 = stablehlo.custom_call @TopK(%0) : (tensor<2x3xf32>) -> tuple<tensor<2x2xf32>, tensor<2x2xi32>>
  %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<2x2xf32>, tensor<2x2xi32>>) -> tensor<2x2xf32>
  %3 = stablehlo.get_tuple_element %1[1] : (tuple<tensor<2x2xf32>, tensor<2x2xi32>>) -> tensor<2x2xi32>
  %20 = func.call @other(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %2, %3, %20 : tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x3xf32>
}
func.func @other(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %2 = stablehlo.negate %arg0 : tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}
"""


EIGENVALUES = """
func.func @main(%arg0: tensor<4x3x3xf32>) -> (tensor<4x3x3xcomplex<f32>>, tensor<4xi32>) {
  %0 = stablehlo.custom_call @lapack_sgeev_ffi(%arg0) {api_version = 4 : i32, \
backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, \
mhlo.frontend_attributes = {num_batch_dims = "1"}, \
xla_shape = "(f32[4,3]{1,0}, f32[4,3]{1,0}, c64[4,3,3]{1,2,0}, c64[4,3,3]{1,2,0}, s32[4]{0})"} : \
(tensor<4x3x3xf32>) -> tuple<tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3x3xcomplex<f32>>, \
tensor<4x3x3xcomplex<f32>>, tensor<4xi32>>
  %1 = stablehlo.get_tuple_element %0[4] {mhlo.frontend_attributes = {num_batch_dims = "1"}} : \
(tuple<tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3x3xcomplex<f32>>, tensor<4x3x3xcomplex<f32>>, \
tensor<4xi32>>) -> tensor<4xi32>
  %2 = stablehlo.get_tuple_element %0[3] {mhlo.frontend_attributes = {num_batch_dims = "1"}, \
result_layout = dense<[1, 2, 0]> : tensor<3xindex>, xla_shape = "c64[4,3,3]{1,2,0}"} : \
(tuple<tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3x3xcomplex<f32>>, tensor<4x3x3xcomplex<f32>>, \
tensor<4xi32>>) -> tensor<4x3x3xcomplex<f32>>
  return %2, %1 : tensor<4x3x3xcomplex<f32>>, tensor<4xi32>
}
"""


@pytest.mark.parametrize(
    ("text", "call", "elements"), [(LACKING, 1, (0, 1)), (EIGENVALUES, 0, (3, 4))], ids=["topk", "lapack"]
)
def test_copies_and_tuples_are_read(text: str, call: int, elements: tuple[int, ...]):
    graph = snapshot(read(readable(text), Options(language="mlir"))).graph
    called = graph.main.body.nodes[call]
    assert graph.main.body.nodes[-1].operands[:2] == tuple(called.results[number] for number in elements)


BODIES = """
func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<i1>) -> tensor<2x2xf32> {
  %0 = "stablehlo.if"(%arg1) ({
    %1 = stablehlo.custom_call @TopK(%arg0) : (tensor<2x3xf32>) -> tuple<tensor<2x2xf32>, tensor<2x2xi32>>
    %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<2x2xf32>, tensor<2x2xi32>>) -> tensor<2x2xf32>
    stablehlo.return %2 : tensor<2x2xf32>
  }, {
    %1 = stablehlo.slice %arg0 [0:2, 0:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
    %2 = mhlo.erf %1 {result_layout = dense<[0, 1]> : tensor<2xindex>} : tensor<2x2xf32>
    stablehlo.return %2 : tensor<2x2xf32>
  }) : (tensor<i1>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
"""


def test_bodies_side_by_side_name_several_values_alike():
    graph = snapshot(read(readable(BODIES), Options(language="mlir"))).graph
    top, other = graph.main.body.nodes[0].regions
    assert top.results == top.nodes[0].results[:1]
    assert other.results == other.nodes[1].results


def test_the_order_of_devices_is_not_lost():
    assert (
        "replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({"
        in mended(CONVERTED, HLO)
    )


SEVERAL = HLO + HLO.replace("{'a'}", "{'b'}")


def test_groups_that_are_written_out_stay_where_a_channel_has_several():
    written = re.sub(
        r"#stablehlo\.replica_group_mesh_axes.*?\]>", "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>", CONVERTED
    )
    assert mended(written, SEVERAL) == written


CALLED = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @body(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = call @body(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func private @body(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> \
: (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


def test_each_call_of_a_function_has_its_collectives():
    assert price(graph_of(CALLED), Mesh("m", (("x", 2),)), load("balanced")).collectives == 2


def test_groups_that_the_hlo_does_not_say():
    with pytest.raises(ValueError, match="channel 4 has no group"):
        mended(CONVERTED.replace("handle = 3", "handle = 4"), HLO)
    with pytest.raises(ValueError, match="two groups"):
        mended(CONVERTED, SEVERAL)
    with pytest.raises(ValueError, match="says no groups"):
        mended(CONVERTED.replace("channel_handle<handle", "channel_handle<number"), HLO)


COMPILED = """
import os
from bench import more_programs, xla_text
from bench.xla_program import _over, partitioned
from shardc.graph import walk
from shardc.layout import Mesh

os.environ["XLA_FLAGS"] = xla_text.FLAGS
program = more_programs.PROGRAMS["clip_global_norm"]
mesh = Mesh("m", tuple(program.mesh.items()))
for turn in range(2):
    graph = partitioned(more_programs, program)
    print([[axis.name for axis in _over(node, mesh)] for node in walk(graph.functions["main"].body)
           if node.name == "stablehlo.all_reduce"])
    xla_text._compiled = None  # what is kept is not compiled again
"""


@pytest.mark.slow
def test_sums_over_a_minor_axis_are_over_that_axis(tmp_path: Path):
    code = COMPILED.replace(
        "for turn", f"from pathlib import Path\nxla_text.KEPT = Path({str(tmp_path)!r})\nfor turn"
    )
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    model, data = ["model"], ["data"]
    expected = [model, data, model, data, data, model, data, model]
    assert done.stdout.splitlines() == [str(expected)] * 2, done.stderr
