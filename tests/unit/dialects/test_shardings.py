"""sdy's text of meshes and shardings, and what the core makes of it."""

import pytest
from xdsl.dialects.func import FuncOp

from shardc.diagnostics import ShardcError
from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.sharding_writer import write_shardings
from shardc.dialects.shardings import attr_of, axis_named, partial_of, sharding_of
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read
from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding, unconstrained

MESH = Mesh("pod", (("x", 4), ("y", 2)))
X, Y = MESH.axis("x"), MESH.axis("y")


@pytest.mark.parametrize(
    ("sharding", "text"),
    [
        (Sharding(MESH, (Dim((X,)), Dim())), '<@pod, [{"x"}, {}]>'),
        (Sharding(MESH, (Dim((X, Y)), Dim(open=True))), '<@pod, [{"x", "y"}, {?}]>'),
        (Sharding(MESH, (Dim((Axis("x", 2),), True, 1),)), '<@pod, [{"x":(1)2, ?}p1]>'),
        (Sharding(MESH, (Dim(),), (X,), (Y,)), '<@pod, [{}], replicated={"x"}, unreduced={"y"}>'),
        (Sharding(MESH, (), (), (Axis("x", 2, 2),)), '<@pod, [], unreduced={"x":(2)2}>'),
        (Sharding(Mesh("", (("x", 4),)), (Dim(),)), '<mesh<["x"=4]>, [{}]>'),
    ],
)
def test_text_of_shardings(sharding, text):
    module = read(f"""
sdy.mesh @pod = <["x"=4, "y"=2]>
func.func @main(%a: tensor<f32> {{a.b = #sdy.sharding{text}}}) {{ return }}""")
    func = module.body.block.last_op
    assert isinstance(func, FuncOp) and func.arg_attrs is not None
    (dictionary,) = func.arg_attrs
    attr = dictionary.data["a.b"]
    assert isinstance(attr, ShardingAttr) and attr == attr_of(sharding)
    assert sharding_of(attr, {"pod": MESH}) == sharding
    assert str(attr) == f"#sdy.sharding{text}"


def test_partial_max_stands_beside_the_sharding():
    sharding = Sharding(MESH, (Dim((Y,)),), unreduced=(X,), kind="max")
    attr, partial = attr_of(sharding), partial_of(sharding)
    assert str(attr) == '#sdy.sharding<@pod, [{"y"}], replicated={"x"}>'
    assert str(partial) == '{max = ["x"]}'
    assert sharding_of(attr, {"pod": MESH}, partial) == sharding


def test_parts_of_axes_by_name():
    assert axis_named("x", MESH) == X
    assert axis_named("x:(2)2", MESH) == Axis("x", 2, 2)
    with pytest.raises(LayoutError, match="x:\\(a\\)2 is no axis"):
        axis_named("x:(a)2", MESH)


def test_a_mesh_that_is_not_there():
    with pytest.raises(LayoutError, match=r"no mesh @other; the module's meshes are: pod"):
        sharding_of(ShardingAttr(attr_of(Sharding(Mesh("other", (("x", 2),)), ())).data), {"pod": MESH})


PROGRAM = """
sdy.mesh @pod = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {jax.buffer_donor = true}, %b: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0:2 = stablehlo.optimization_barrier %a, %b : tensor<8x4xf32>, tensor<8x4xf32>
  %1 = stablehlo.add %0#0, %0#1 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
"""


def test_shardings_are_written_back_and_read_again():
    module = read(PROGRAM)
    snap = snapshot(module)
    a, b, p, q, s = range(5)
    rows = Sharding(MESH, (Dim((X,)), Dim()))
    partial = Sharding(MESH, (Dim(), Dim()), unreduced=(X,), kind="min")
    write_shardings(snap, {a: rows, p: partial, s: partial}, {"main": [rows]})
    again = snapshot(read(print_module(module))).graph
    shardings = [value.sharding for value in again.values]
    assert shardings == [rows, None, partial, unconstrained(MESH, 2), partial]
    assert again.main.result_shardings == [rows]
    assert "jax.buffer_donor" in print_module(module)

    write_shardings(snap, dict.fromkeys((a, b, p, q, s)), {"main": [None]})
    assert "sdy.sharding" not in print_module(module) and "shardc.partial" not in print_module(module)


@pytest.mark.parametrize(
    ("sharding", "message"),
    [
        ('<@pod, [{"z"}]>', "mesh pod has no axis z; it has x, y"),
        ('<@pod, [{"x"}], unreduced={"x"}>', "axis x is used twice"),
        ('<@pod, [{"x":(1)3}]>', "is not a part of axis x of size 4"),
        ("<@nowhere, [{}]>", "no mesh @nowhere"),
        ("<@pod, [{}, {}]>", r"a sharding of 2 dimensions, \[-, -\], is given to f32\[8\]"),
    ],
)
def test_errors_point_at_the_argument(sharding, message):
    text = f"""sdy.mesh @pod = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding{sharding}}}) {{ return }}"""
    with pytest.raises(ShardcError, match=message) as caught:
        snapshot(read(text, "a.mlir"))
    assert str(caught.value).startswith("a.mlir:2:17: error: ")


def test_a_mesh_that_cannot_be():
    with pytest.raises(ShardcError, match=r"a\.mlir:1:1: error: mesh pod has two axes called x"):
        snapshot(read('sdy.mesh @pod = <["x"=4, "x"=2]>\nfunc.func @main() { return }', "a.mlir"))
