"""The steps of Shardy's import and export, each against the pass of that name in jaxlib."""

from __future__ import annotations

import pytest

from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.mlir_style import print_as_mlir
from shardc.frontend.mlir import read
from shardc.passes.shardy.steps import STEPS
from shardc.passes.shardy.table import SDY_PASSES
from tests.pinned import with_pinned_jax

mlir = pytest.importorskip("jax._src.interpreters.mlir")
ir = pytest.importorskip("jaxlib.mlir.ir")
passmanager = pytest.importorskip("jaxlib.mlir.passmanager")

MESHES = """sdy.mesh @m = <["a"=2, "b"=2, "one"=1]>
sdy.mesh @four = <["a"=4]>
"""
PLAIN = (
    MESHES
    + """
func.func @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@four, [{"a", ?}p1, {?}]>},
                %y: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"one", "a"}, {"b", ?}]>},
                %z: tensor<8xf32> {sdy.sharding = #sdy.sharding<@four, [{"a":(1)2, ?}]>})
    -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {?}]>}) {
  %c = stablehlo.constant dense<1.0> : tensor<6x8xf32>
  %d = stablehlo.constant dense<1.0> : tensor<6x8xf32>
  %0 = stablehlo.add %y, %c
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a", ?}, {?}], replicated={"b"}>]>} : tensor<6x8xf32>
  %1 = stablehlo.add %0, %d : tensor<6x8xf32>
  %2 = stablehlo.add %1, %x {sdy.sharding = #sdy.sharding_per_value<[<mesh<["q"=4]>, [{"q", ?}, {?}]>]>}
      : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}
"""
)
ABOUT_SHARDINGS = (
    MESHES
    + """
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  sdy.sharding_group %x group_id=3 : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %x <@m, [{}, {"b", ?}], replicated={"one"}> : tensor<8x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"a"}, {?}]>] out_shardings=[<@m, [{"a"}, {?}]>]
      manual_axes={"a", "one"} (%b: tensor<4x8xf32>) {
    %2 = stablehlo.tanh %b : tensor<4x8xf32>
    sdy.return %2 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""
)
OF_FUNCTIONS = frozenset(
    {
        "sdy-sharding-constraint-to-reshard",
        "sdy-constant-or-scalar-merger",
        "sdy-drop-sharding-rules",
        "sdy-sink-func-data-flow-edges",
    }
)
"""Passes that jaxlib runs on functions, not on modules."""


def by_jaxlib(text: str, passes: str) -> str:
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return str(module)


def by_shardc(text: str, name: str) -> str:
    module = read(text, "prog.mlir")
    SDY_PASSES[name]()().apply(make_context(), module)
    return print_as_mlir(module)


@with_pinned_jax
@pytest.mark.parametrize("text", [PLAIN, ABOUT_SHARDINGS], ids=["plain", "about shardings"])
@pytest.mark.parametrize("name", STEPS)
def test_a_step_does_what_shardys_does(name: str, text: str) -> None:
    if name == "sdy-drop-sharding-and-mesh" and text == ABOUT_SHARDINGS:
        with pytest.raises(ShardcError, match="names a mesh"):
            by_shardc(text, name)
        return
    wanted = by_jaxlib(text, f"func.func({name})" if name in OF_FUNCTIONS else name)
    assert by_jaxlib(by_shardc(text, name), "") == wanted


def test_the_partitioning_passes_by_name() -> None:
    text = MESHES + (
        'func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>})\n'
        '    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}) {\n'
        "  %0 = stablehlo.tanh %x : tensor<8x8xf32>\n  return %0 : tensor<8x8xf32>\n}\n"
    )
    module = read(text, "prog.mlir")
    said: list[str] = []
    for name in ("sdy-insert-explicit-reshards", "sdy-reshard-to-collectives", "sdy-convert-global-to-local"):
        SDY_PASSES[name]()().apply(make_context(), module)
        said.append(print_as_mlir(module))
    assert "sdy.reshard" in said[0]
    assert "sdy.all_to_all" in said[1]
    assert "spmd.all_to_all" in said[2]
