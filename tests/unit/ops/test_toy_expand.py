"""OneFlow's walk-through, for an operation of one's own: its signatures, its sizes per device, its texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pytest

import shardc
from shardc.cli.layout import main as shardc_layout
from shardc.diagnostics import ShardcError
from shardc.forms.registry import PLAIN, plain_form
from shardc.forms.site import Site
from shardc.graph import Op, TensorType
from shardc.ops import OpDef, Spelling, Syntax, define, registry
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp

PROGRAM = """\
sdy.mesh @pod = <["x"=2]>
func.func @main(%x: tensor<4x3x1x2xf32> {sdy.sharding = #sdy.sharding<@pod, [{}, {}, {}, {"x"}]>})
    -> tensor<2x4x3x4x2xf32> {
  %0 = "toy.expand"(%x) <{sizes = array<i64: 2, 4, 3, 4, 2>}> : (tensor<4x3x1x2xf32>) -> tensor<2x4x3x4x2xf32>
  return %0 : tensor<2x4x3x4x2xf32>
}
"""
X = np.arange(24, dtype=np.float32).reshape(4, 3, 1, 2)


def types(op: UntypedOp) -> Types:
    return (TensorType(cast("tuple[int, ...]", op.get("sizes", tuple)), op.operands[0].dtype),)


def rule(op: Op) -> FactorRule:
    """Dimensions that keep their size are split alike; copied ones are whole."""
    x, y = op.operands[0].shape, op.results[0].shape
    built = RuleBuilder(op)
    for dim, size in enumerate(x):
        if size == y[dim + len(y) - len(x)]:
            built.factor(size, {0: dim}, {0: dim + len(y) - len(x)})
    return built.build(linear=[[0]])


def meaning(op: Op, arrays: Sequence[Any], *bodies: Any) -> list[Any]:
    return [np.broadcast_to(arrays[0], cast("tuple[int, ...]", op.attrs["sizes"]))]


@pytest.fixture(autouse=True)
def expand() -> Iterator[None]:
    definition = define(
        OpDef(
            name="toy.expand",
            doc="x, copied along dimensions of size 1 and new ones in front.",
            infer=types,
            rule=rule,
            meaning=meaning,
            syntax=Syntax(("x",), ("y",), {"sizes": "ints"}),
            spelling=Spelling(numpy="np.broadcast_to({0}, {sizes})", jax="jnp.broadcast_to({0}, {shape})"),
        )
    )

    @plain_form(definition)
    def _(site: Site) -> list[Any]:
        """The sizes of the device's own block."""
        return site.plain(sizes=site.local_results[0].shape)

    yield
    del PLAIN["toy.expand"]


def test_it_is_compiled_and_run() -> None:
    program = shardc.compile(PROGRAM, target="numpy")
    assert "return np.broadcast_to(x, (2, 4, 3, 4, 1))" in program.source
    assert np.array_equal(program.main(X), np.broadcast_to(X, (2, 4, 3, 4, 2)))
    assert "return jnp.broadcast_to(x, (2, 4, 3, 4, 1))" in shardc.compile(PROGRAM, target="jax").source


def test_its_signatures(capsys: pytest.CaptureFixture[str]) -> None:
    words = "signatures toy.expand --shape 4,3,1,2 --sizes 2,4,3,4,2 --format json"
    assert shardc_layout(words.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(s["operands"], s["results"]) for s in found["signatures"]] == [
        (["S(0)"], ["S(1)"]),
        (["S(1)"], ["S(2)"]),
        (["S(3)"], ["S(4)"]),
        (["P"], ["P"]),
        (["B"], ["B"]),
    ]
    assert found["signatures"][2]["locals"][0]["results"] == [[2, 4, 3, 4, 1]]


def test_a_place_that_nothing_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = registry.find("toy.expand")
    assert wrong is not None
    monkeypatch.setitem(registry._definitions, "toy.expand", OpDef(
        name=wrong.name, doc=wrong.doc, infer=wrong.infer, rule=wrong.rule, meaning=wrong.meaning,
        syntax=wrong.syntax, spelling=Spelling(numpy="np.broadcast_to({0}, {size})"),
    ))  # fmt: skip
    with pytest.raises(ShardcError, match=r"toy\.expand has \{size\}, which it does not have"):
        shardc.compile(PROGRAM, target="numpy")


def test_operations_by_their_full_names(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["signatures", "stablehlo.transpose", "--shape", "4,8", "--set"]
    assert shardc_layout([*words, "permutation=(1, 0)"]) == 0
    assert "S(1)  S(0)    0, 1    [4, 4]   [4, 4]" in capsys.readouterr().out
    assert shardc_layout([*words, "permutation=(1, 2)"]) == 1
    assert "permutation 2, which is no dimension" in capsys.readouterr().err
