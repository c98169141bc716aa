"""What operations refuse, and in which words."""

import pytest
from xdsl.ir import Operation

from shardc.diagnostics import ShardcError
from shardc.dialects import verify
from shardc.frontend.mlir import read

MAIN = """sdy.mesh @pod = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>, %i: tensor<i32>) {{
  {}
  return
}}"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = stablehlo.add %a, %b : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>", "add"),
        (
            "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]"
            " : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>",
            "dot_general",
        ),
        ("%0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<8x4xf32>) -> tensor<8x8xf32>", "names a dim"),
        ("%0 = stablehlo.iota dim = 2 : tensor<4xi32>", "no dimension of a tensor of rank 1"),
        (
            "%0 = stablehlo.concatenate %a, %b, dim = 0"
            " : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<12x4xf32>",
            "conc",
        ),
        ('%0 = "stablehlo.transpose"(%a) : (tensor<8x4xf32>) -> tensor<4x8xf32>', "permutation"),
        (
            '%0 = sdy.reshard %a <@pod, [{"x"}]> : tensor<8x4xf32>',
            "1",
        ),
        ('%0 = sdy.reshard %a <@pod, [{"z"}, {}]> : tensor<8x4xf32>', "mesh pod has no axis z; it has x, y"),
        ("%0 = sdy.reshard %a <@cod, [{}, {}]> : tensor<8x4xf32>", "there is no mesh @cod"),
        ('%0 = sdy.reshard %a <@pod, [{"x"}, {"x"}]> : tensor<8x4xf32>', "axis x is used twice"),
        (
            '%0 = "spmd.all_slice"(%a) {axes = ["x"], dim = 0 : i64} : (tensor<8x4xf32>) -> tensor<2x4xf32>',
            "allowed only inside sdy.manual_computation",
        ),
        (
            "%0 = stablehlo.while(%j = %i) : tensor<i32> cond { stablehlo.return %j : tensor<i32> } "
            "do { stablehlo.return %j : tensor<i32> }",
            "while needs its region 0 to return",
        ),
    ],
)
def test_refused(line, message):
    with pytest.raises(ShardcError, match=message) as caught:
        read(MAIN.format(line), "a.mlir")
    assert str(caught.value).startswith("a.mlir:3:3: error: ")


MANUAL = """sdy.mesh @pod = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x4xf32>) {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@pod, [{{"x"}}, {{}}]>]
    out_shardings=[<@pod, [{{"x"}}, {{}}]>] manual_axes={} (%b: {}) {{
    {}
    sdy.return %b : {}
  }} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}}"""


def manual(line="", local="tensor<2x4xf32>", axes='{"x", "y"}'):
    return MANUAL.format(axes, local, line, local)


def test_local_blocks_must_fit_the_shardings():
    read(manual())
    with pytest.raises(ShardcError, match=r"block of operand 0 is f32\[2, 4\], not f32\[8, 4\]"):
        read(manual(local="tensor<8x4xf32>"))


def test_free_axes_do_not_split_local_blocks():
    read(manual(local="tensor<8x4xf32>", axes='{"y"}'))


def test_manual_axes_come_first():
    text = manual(local="tensor<4x4xf32>", axes='{"x"}').replace('{"x"}, {}', '{"y", "x"}, {}')
    with pytest.raises(ShardcError, match="x, which is manual, stands behind y, which is left to"):
        read(text, "a.mlir")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"spmd.all_reduce"(%b) {axes = ["z"], kind = "sum"}', "mesh pod has no axis z"),
        ('"spmd.all_reduce"(%b) {axes = ["x"], kind = "mean"}', "mean"),
        ('"spmd.all_slice"(%b) {axes = ["y"], dim = 2 : i64}', "dim"),
        ('"spmd.all_slice"(%b) {axes = ["y"], dim = 1 : i64}', "all_slice"),
    ],
)
def test_per_device_operations(line, message):
    with pytest.raises(ShardcError, match=message) as caught:
        read(manual(f"%1 = {line} : (tensor<2x4xf32>) -> tensor<2x4xf32>"), "a.mlir")
    assert str(caught.value).startswith("a.mlir:5:5: error: ")


BODIES = """func.func @main(%a: tensor<8xf32>, %z: tensor<f32>) {{
  %0 = "stablehlo.reduce"(%a, %z) <{{dimensions = array<i64: 0>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.reduce"(%a, %z) <{{dimensions = array<i64: 0>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    {}
  }}) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return
}}"""


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("stablehlo.return %p, %q : tensor<f32>, tensor<f32>", "7:3"),
        (
            "%s = stablehlo.add %p, %a : (tensor<f32>, tensor<8xf32>) -> tensor<f32>\n"
            "    stablehlo.return %s : tensor<f32>",
            "9:5",
        ),
        (
            "%s = stablehlo.compare EQ, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
            "    stablehlo.return %s : tensor<f32>",
            "9:5",
        ),
    ],
)
def test_a_wrong_body_after_a_right_one_is_refused(body, place):
    with pytest.raises(ShardcError) as caught:
        read(BODIES.format(body), "a.mlir")
    assert str(caught.value).startswith(f"a.mlir:{place}: error: ")


def test_of_equal_operations_with_bodies_one_is_verified(monkeypatch):
    verified = []
    verify = Operation.verify
    monkeypatch.setattr(
        Operation, "verify", lambda op, **named: verified.append(op.name) or verify(op, **named)
    )
    lines = [
        f"  %{i} = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]"
        " : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
        for i in range(3)
    ]
    read(f"func.func @main(%a: tensor<8xf32>, %z: tensor<f32>) {{\n{''.join(lines)}  return\n}}\n", "a.mlir")
    assert verified.count("stablehlo.reduce") == verified.count("stablehlo.return") == 1


def test_the_mesh_of_per_device_code_is_that_of_its_first_sharding(monkeypatch: pytest.MonkeyPatch):
    """Code with a thousand arguments has a thousand shardings, and each operation in it asks for the mesh."""
    module = read(
        """sdy.mesh @pod = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@pod, [{"x"}]>, <@pod, [{"x"}]>]
      out_shardings=[<@pod, [{"x"}]>] manual_axes={"x"} (%c: tensor<2xf32>, %d: tensor<2xf32>) {
    %1 = stablehlo.add %c, %d : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
    )
    asked: list[object] = []
    resolve = verify.sharding_of
    monkeypatch.setattr(verify, "sharding_of", lambda ref, meshes: asked.append(ref) or resolve(ref, meshes))
    code = next(op for op in module.walk() if op.name == "sdy.manual_computation")
    mesh = verify.own_mesh(code, verify.module_meshes(module))
    assert mesh is not None
    assert mesh.name == "pod"
    assert len(asked) == 1
