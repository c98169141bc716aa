"""One all-to-all over all axes that move, in any order: every stage takes it, wherever its operand is."""

from __future__ import annotations

import pytest

from shardc.compilation import lower
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.read import read
from shardc.interpret.arguments import arguments
from shardc.interpret.compare import compare
from shardc.interpret.reference import GraphReference
from shardc.options import Options

MESH = "mesh m[x=2, y=2, z=2]\n\n"
LOOP = """def main(a: f32[8@(x, y), 8, 8]) -> f32[8@(x, y), 8, 8]:
    for i in range(3):
        b: f32[8, 8@x, 8@y] = a + 1.0
        a: f32[8@(x, y), 8, 8] = b * 2.0
    return a
"""
CARRIED = LOOP.replace("for i in range(3)", "while sum(a) < 9000.0 carrying a")
PER_DEVICE = """sdy.mesh @m = <["x"=2, "y"=2, "z"=2]>
func.func @main(%a: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"z", "x", "y"}, {}, {}]>]
      out_shardings=[<@m, [{"z"}, {"x"}, {"y"}]>] manual_axes={"z"} (%b: tensor<4x8x8xf32>) {
    %1 = sdy.sharding_constraint %b <@m, [{}, {"x"}, {"y"}]> : tensor<4x8x8xf32>
    sdy.return %1 : tensor<4x8x8xf32>
  } : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  return %0 : tensor<8x8x8xf32>
}
"""


def changed(source: str, target: str) -> str:
    return f"{MESH}def main(a: f32[{source}]) -> f32[{target}]:\n    return a\n"


@pytest.mark.parametrize(
    "text",
    [
        changed("8@(x, y), 8", "8, 8@(y, x)"),
        changed("8@(x, y), 8, 8", "8, 8@x, 8@y"),
        changed("8@x, 8@y, 8", "8, 8, 8@(y, x)"),
        changed("8@(x, y), 8@z, 8", "8, 8, 8@(x, z, y)"),
        MESH + LOOP,
        MESH + CARRIED,
        PER_DEVICE,
    ],
    ids=["order", "two receivers", "two senders", "mixed", "loop", "carried", "per device"],
)
def test_every_stage_takes_it(text: str) -> None:
    options = Options(file="prog", language="shard" if text.startswith("mesh") else "mlir")
    module = read(text, options)
    whole = snapshot(module.clone()).graph
    changes = module.clone()
    lower(changes, options, "collectives")
    assert "sdy.all_to_all" in print_module(changes)
    local = lower(module, options)
    assert all(result.same for result in compare(GraphReference(whole), local, arguments(whole, None, "")))
