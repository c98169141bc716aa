"""Replica groups that are axes of a mesh mean the same as the groups of device numbers written out."""

from __future__ import annotations

import pytest

from shardc import api
from shardc.diagnostics import ShardcError
from shardc.dialects.sdy_refs import AxisRef
from shardc.dialects.stablehlo.mesh_groups import MeshGroups
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read
from shardc.layout import Mesh

PROGRAM = """module {{
  sdy.mesh @mesh = <["x"=2, "y"=4]{ids}>
  sdy.mesh @again = <["x"=2, "y"=4]{ids}>
  func.func @main(%arg0: tensor<16x4xf32>) -> tensor<16x{columns}xf32> {{
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x", "y"}}, {{}}]>] out_shardings=[<@mesh, [{{"x", "y"}}, {{}}]>] manual_axes={{"x", "y"}} (%arg1: tensor<2x4xf32>) {{
      %1 = "stablehlo.all_gather"(%arg1) <{{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = {groups}, use_global_device_ids}}> : (tensor<2x4xf32>) -> tensor<2x{columns}xf32>
      sdy.return %1 : tensor<2x{columns}xf32>
    }} : (tensor<16x4xf32>) -> tensor<16x{columns}xf32>
    return %0 : tensor<16x{columns}xf32>
  }}
}}
"""  # noqa: E501

MESH = Mesh("m", (("x", 2), ("y", 4)))


def groups(*axes: str, mesh: str = "@again") -> str:
    refs = ", ".join(f"#stablehlo.axis_ref<{axis}>" for axis in axes)
    return f"#stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [{refs}]>"


def inlined(ids: str) -> str:
    devices = f", device_ids=dense<{ids}> : tensor<8xi64>" if ids else ""
    return f'#stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 4>]{devices}>'


@pytest.mark.parametrize(
    ("axes", "rows"),
    [
        ([AxisRef("y")], ((0, 1, 2, 3), (4, 5, 6, 7))),
        ([AxisRef("x")], ((0, 4), (1, 5), (2, 6), (3, 7))),
        ([AxisRef("y"), AxisRef("x")], ((0, 4, 1, 5, 2, 6, 3, 7),)),
        ([AxisRef("y", 1, 2)], ((0, 2), (1, 3), (4, 6), (5, 7))),
        ([], tuple((i,) for i in range(8))),
    ],
)
def test_members_differ_over_the_axes_and_the_last_counts_fastest(axes, rows) -> None:
    assert MeshGroups("m", tuple(axes)).rows({"m": MESH}) == rows


def test_members_are_device_numbers() -> None:
    mesh = Mesh("m", (("x", 2), ("y", 2)), (3, 2, 1, 0))
    assert MeshGroups("m", (AxisRef("y"),)).rows({"m": mesh}) == ((3, 2), (1, 0))


@pytest.mark.parametrize("inside", [False, True], ids=["named", "inside"])
@pytest.mark.parametrize("ids", ["", "[1, 0, 2, 3, 7, 6, 5, 4]"])
@pytest.mark.parametrize(
    ("axes", "columns"),
    [
        (['name = "y"'], 16),
        (['name = "y"', 'name = "x"'], 32),
        (['name = "y", sub_axis_info = (2)2'], 8),
    ],
)
def test_all_ways_to_write_groups_give_one_program(axes, columns, ids, inside) -> None:
    mesh_ids = f", device_ids={ids}" if ids else ""
    given = groups(*axes, mesh=inlined(ids) if inside else "@again")
    written = PROGRAM.format(groups=given, columns=columns, ids=mesh_ids)
    text = print_module(read(written, "p.mlir"))
    assert f"replica_groups = {given}" in text
    (number,) = (number for number in range(len(AXES)) if AXES[number] == axes)
    mesh = Mesh("m", MESH.axes, (1, 0, 2, 3, 7, 6, 5, 4) if ids else None)
    rows = MeshGroups("m", REFS[number]).rows({"m": mesh})
    dense = f"dense<{[list(row) for row in rows]}> : tensor<{len(rows)}x{len(rows[0])}xi64>"
    numbered = PROGRAM.format(groups=dense, columns=columns, ids=mesh_ids)
    one, other = (
        api.compile(source, language="mlir", file="p.mlir").source for source in (written, numbered)
    )
    assert one == other and "lax.all_gather(" in one


AXES = [['name = "y"'], ['name = "y"', 'name = "x"'], ['name = "y", sub_axis_info = (2)2']]
REFS = [(AxisRef("y"),), (AxisRef("y"), AxisRef("x")), (AxisRef("y", 2, 2),)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (groups('name = "y"', mesh="@none"), "replica groups name mesh @none, which is not defined"),
        (groups('name = "z"'), "no axis z"),
        (groups('name = "y", sub_axis_info = (3)2'), "is not a part of axis y of size 4"),
        (groups('name = "y", sub_axis_info = (0)2'), "is not a part of axis y of size 4"),
        (groups('name = "y"', 'name = "y"'), "axis y is used twice"),
        (
            "#stablehlo.replica_group_mesh_axes<mesh = 1, axes = []>",
            "replica groups name a mesh of the module",
        ),
        (groups(mesh="#stablehlo.mesh<axes=[], device_ids=1>"), "the devices of a mesh are dense"),
        (
            groups(mesh="#stablehlo.mesh<axes=[], device_ids=dense<0> : tensor<99999999999xi64>>"),
            "a mesh has at most 2^20 devices",
        ),
        (groups(mesh='#stablehlo.mesh<axes=[<name = "x", size = 99999999999>]>'), "more than 2^20 devices"),
        (groups(mesh=inlined("[0, 0, 2, 3, 4, 5, 6, 7]")), "are not 0 to 7, once each"),
        ("#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [1]>", "an axis of replica groups is"),
        (groups('name = "x"'), "32"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    columns = 32 if message == "32" else 16
    with pytest.raises(ShardcError) as caught:
        read(PROGRAM.format(groups=text, columns=columns, ids=""), "p.mlir")
    assert str(caught.value).startswith("p.mlir:6:") and message in str(caught.value)
