"""The fast path reads what the slow one reads."""

from typing import cast

import pytest
from xdsl.dialects.func import FuncOp

from shardc.diagnostics import ShardcError
from shardc.dialects.text import print_module
from shardc.frontend import mlir_lines
from shardc.frontend.mlir import read


def slow(text, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(mlir_lines.LineReader, "learn", lambda *args: None)
        return print_module(read(text, "a.mlir"), locations=True)


def check(body, monkeypatch, expected_fast):
    text = (
        "func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<f32>, %i: tensor<4xi32>) {\n"
        + "\n".join(body)
        + "\n  return\n}\n"
    )
    count = 0
    build = mlir_lines.LineReader._build

    def counting(self, *args):
        nonlocal count
        op = build(self, *args)
        count += op is not None
        return op

    with monkeypatch.context() as patch:
        patch.setattr(mlir_lines.LineReader, "_build", counting)
        fast = print_module(read(text, "a.mlir"), locations=True)
    assert fast == slow(text, monkeypatch)
    assert count == expected_fast


@pytest.mark.parametrize(
    ("lines", "fast"),
    [
        (["  %0 = stablehlo.add %a, %b : tensor<4xf32>", "  %1 = stablehlo.add %0, %0 : tensor<4xf32>"], 1),
        (["  %0 = stablehlo.add %a, %a : tensor<4xf32>", "  %1 = stablehlo.add %a, %b : tensor<4xf32>"], 0),
        (["  %x = stablehlo.negate %a : tensor<4xf32>", "", "  %y = stablehlo.negate %x : tensor<4xf32>"], 1),
        (
            [
                f"  %{n}:2 = stablehlo.optimization_barrier %a, %{m} : tensor<4xf32>, tensor<4xf32>"
                for n, m in (("0", "b"), ("1", "0#1"), ("2", "1#0"))
            ],
            2,
        ),
        (
            [
                "  %0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [0]"
                " : (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
                "  %1 = stablehlo.reduce(%b init: %0) applies stablehlo.add across dimensions = [0]"
                " : (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
            ],
            1,
        ),
        (
            [
                '  %0 = stablehlo.negate %a {t.a = "%b loc("} : tensor<4xf32>',
                '  %1 = stablehlo.negate %a {t.a = "%c loc("} : tensor<4xf32>',
            ],
            0,
        ),
        (
            [
                '  %0 = stablehlo.negate %a : tensor<4xf32> loc("h"("m.py":1:2))',
                '  %1 = stablehlo.negate %0 : tensor<4xf32> loc("k"("m.py":3:4))',
                "  %2 = stablehlo.negate %1 : tensor<4xf32>",
            ],
            2,
        ),
        (["  %0 = stablehlo.negate %a : tensor<4xf32> %1 = stablehlo.negate %a : tensor<4xf32>"] * 1, 0),
        (["  %0 = stablehlo.negate %a : tensor<4xf32>", "  %1 = stablehlo.negate %i : tensor<4xi32>"], 1),
        (["  %0 = stablehlo.negate %a : tensor<4xf32>", "  %1 = stablehlo.iota dim = 0 : tensor<8xf32>"], 0),
        (
            [
                "  %0 = stablehlo.iota dim = 0 : tensor<4xf32>",
                "  %1 = stablehlo.iota dim = 0 : tensor<4xi32>",
                "  %2 = stablehlo.iota dim = 0 : tensor<8xi32>",  # a type that was not read before
                "  %3 = stablehlo.iota dim = 0 : tensor<8xi32>",
            ],
            2,
        ),
        (
            [
                "  %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>",
                "  %1 = stablehlo.convert %i : (tensor<4xi32>) -> tensor<4xf32>",
                "  %2 = stablehlo.convert %1 : (tensor<4xf32>) -> tensor<4xf32>",
            ],
            2,
        ),
        (
            [
                "  %0 = stablehlo.constant dense<1> : tensor<4xi32>",
                "  %1 = stablehlo.constant dense<1> : tensor<i32>",
                "  %2 = stablehlo.constant dense<1> : tensor<4xi32>",
            ],
            1,
        ),
        (
            [
                "  %0 = stablehlo.compare LT, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
                "  %1 = stablehlo.select %0, %a, %b : tensor<4xi1>, tensor<4xf32>",  # of four types two
                "  %2 = stablehlo.select %0, %i, %i : tensor<4xi1>, tensor<4xi32>",
                "  %3 = stablehlo.compare LT, %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>",
            ],
            1,
        ),
        (
            [
                "  %0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [0]"
                " : (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
                "  %1 = stablehlo.constant dense<0> : tensor<i32>",
                "  %2 = stablehlo.reduce(%i init: %1) applies stablehlo.add across dimensions = [0]"
                " : (tensor<4xi32>, tensor<i32>) -> tensor<i32>",
            ],
            0,
        ),
        (
            [
                '  %0, %1 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64}> ({',
                "  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %t: tensor<i32>):",
                "    %2 = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>",
                "    stablehlo.return %2 : tensor<i1>",
                "  }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)",
                "  %3 = stablehlo.compare LT, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>",
                "  %4, %5 = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)",
                "  %6, %7 = chlo.top_k(%0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)",
            ],
            2,
        ),
    ],
)
def test_same_result(lines, fast, monkeypatch):
    check(lines, monkeypatch, fast)


@pytest.mark.parametrize(
    "last",
    [
        "  %1 = stablehlo.negate %i : tensor<4xf32>",
        "  %0 = stablehlo.negate %a : tensor<4xf32>",
        "  %1 = stablehlo.negate %zz : tensor<4xf32>",
        "  %1 = stablehlo.negate %a#3 : tensor<4xf32>",
        "  %1 = stablehlo.negate %a : tensor<4xi32>",
        "  %1 = stablehlo.negate %i : (tensor<4xi32>) -> tensor<4xf32>",
        "  %1 = stablehlo.negate %a : tensor<4x",
    ],
)
def test_same_error(last, monkeypatch):
    text = (
        "func.func @main(%a: tensor<4xf32>, %i: tensor<4xi32>) {\n"
        f"  %0 = stablehlo.negate %a : tensor<4xf32>\n{last}\n  return\n}}\n"
    )
    with pytest.raises(ShardcError) as fast:
        read(text, "a.mlir")
    with pytest.raises(ShardcError) as full:
        slow(text, monkeypatch)
    assert str(fast.value) == str(full.value)


def test_templates_are_per_text():
    read("func.func @main(%a: tensor<4xf32>) {\n  %0 = stablehlo.negate %a : tensor<4xf32>\n  return\n}\n")
    with pytest.raises(ShardcError, match="not defined"):
        read("func.func @main() {\n  %0 = stablehlo.negate %a : tensor<4xf32>\n  return\n}\n")


ARGUMENTS = """sdy.mesh @m = <["a"=2]>
func.func @main(%x: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"a"}}]>}},
                %y: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"a"}}]>}},
                %z: tensor<4xf32> {second}) -> tensor<4xf32> {{
  return %z : tensor<4xf32>
}}
"""


def test_equal_annotations_are_read_once():
    module = read(ARGUMENTS.format(second='{sdy.sharding = #sdy.sharding<@m, [{"a"}]>}'))
    function = cast(FuncOp, list(module.body.block.ops)[1])
    assert function.arg_attrs is not None
    first, *others = [entry.data["sdy.sharding"] for entry in function.arg_attrs]
    assert all(each is first for each in others)


@pytest.mark.parametrize(
    ("second", "read_as"),
    [
        ('{a.b = "}", c.d = 2 : i32}', ["a.b", "c.d"]),
        ('{a.b = {c = {d = "{"}}}', ["a.b"]),
        ('{a.b = 1 : i32, // }\n  c.d = "\\22"}', ["a.b", "c.d"]),
        ("{}", []),
    ],
)
def test_braces_of_any_annotations(second, read_as):
    function = cast(FuncOp, list(read(ARGUMENTS.format(second=second)).body.block.ops)[1])
    assert function.arg_attrs is not None
    assert [*function.arg_attrs.data[2].data] == read_as


def test_an_error_in_the_last_annotation():
    wrong = ARGUMENTS.format(second='{sdy.sharding = #sdy.sharding<@m, [{"a"]>}')
    with pytest.raises(ShardcError) as caught:
        read(wrong, "t.mlir")
    assert caught.value.diagnostic.loc.line == 4
