"""Keys of operations: equal for those that do the same, and for no others."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.frontend.mlir import read
from shardc.graph import TensorType
from shardc.rewrite.alike import Alike

NOTE = "shardc.reason"
REDUCE = """
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce(%x init: %s) across dimensions = [0] :
    (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %r = stablehlo.FIRST %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }
  %1 = stablehlo.reduce(%OPERAND init: %s) across dimensions = [0] :
    (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %r = stablehlo.SECOND : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }
  return %1 : tensor<4xf32>
}
"""


def keys(alike: Alike, first: str, second: str, operand: str = "x") -> tuple[object, object]:
    """Those of two reductions, of what `first` and `second` say."""
    text = REDUCE.replace("FIRST", first).replace("SECOND", second).replace("OPERAND", operand)
    ops = [op for op in read(text, "t.mlir").walk() if op.name == "stablehlo.reduce"]
    one, other = (alike.key(op, lambda value: value) for op in ops)
    return one, other


def blind() -> Alike:
    return Alike(ignored=lambda name: name == NOTE)


def test_bodies_that_do_the_same_are_alike() -> None:
    one, other = keys(blind(), "add", "add %a, %b")
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize("second", ["maximum %a, %b", "add %b, %a", "add %a, %a", "add %a, %t"])
def test_bodies_that_do_not_are_not(second: str) -> None:
    one, other = keys(blind(), "add", second)
    assert one != other


def test_operands_count() -> None:
    one, other = keys(blind(), "add", "add %a, %b", "y")
    assert one != other


def reshapes() -> list[Operation]:
    """One operand in two shapes, and in the first again, with a note."""
    builder = IRBuilder()
    with builder.func("main", [TensorType((4,), "f32")]) as (x,):
        values: list[SSAValue] = [
            builder.one("stablehlo.reshape", x, result=TensorType(shape, "f32"))
            for shape in ((2, 2), (4, 1), (2, 2))
        ]
        builder.ret(values)
    ops = [value.owner for value in values if isinstance(value.owner, Operation)]
    ops[2].attributes[NOTE] = StringAttr("the result needs it")
    return ops


def test_types_of_results_count_and_ignored_notes_do_not() -> None:
    rows, elements, again = reshapes()
    alike = blind()
    assert alike.key(rows, str) == alike.key(again, str) != alike.key(elements, str)
    seeing = Alike(ignored=lambda name: False)
    assert seeing.key(rows, str) != seeing.key(again, str)
