"""Passes before layers go out find in a large module without its graph what they find in a small one's."""

from __future__ import annotations

import pytest

from shardc.diagnostics import ShardcError
from shardc.dialects import shared_graph
from shardc.dialects.context import make_context
from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes import require_runnable
from shardc.passes.drop_open_constraints import DropOpenConstraints
from shardc.passes.name_axes import NameAxes
from shardc.passes.require_runnable import RequireRunnable

PROGRAM = """sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.compare GT, %a, %1, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %3 = stablehlo.select %2, %a, %1 : tensor<8xi1>, tensor<8xf32>
  %4 = sdy.sharding_constraint %3 <@m, [{?}]> : tensor<8xf32>
  return %4 : tensor<8xf32>
}
"""
SELECTED = "  %3 = stablehlo.select %2, %a, %1 : tensor<8xi1>, tensor<8xf32>\n"
CALL = (
    SELECTED.replace("3 =", "5 =")
    + "  %3 = stablehlo.custom_call @{}(%5) {} : (tensor<8xf32>) -> tensor<8xf32>\n"
)
WRONG = {
    "a comparison": PROGRAM.replace("FLOAT", "SIGNED"),
    "a callback": PROGRAM.replace(SELECTED, CALL.format("xla_ffi_python_cpu_callback", "")),
    "an effect": PROGRAM.replace(SELECTED, CALL.format("other", "{has_side_effect = true}")),
    "random numbers": PROGRAM.replace(
        SELECTED,
        "  %d = stablehlo.constant dense<8> : tensor<1xi64>\n"
        "  %3 = stablehlo.rng %0, %c, %d, distribution = UNIFORM"
        " : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>\n",
    ),
    "a token": PROGRAM.replace(SELECTED, SELECTED + "  %t = stablehlo.create_token : !stablehlo.token\n"),
    "a token that is given": PROGRAM.replace("main(", "main(%t: !stablehlo.token, "),
}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (shared_graph, require_runnable):
        monkeypatch.setattr(room, "LARGE", 1)


def module(text: str) -> SharedGraph:
    return SharedGraph(read(text, Options(file="p.mlir")))


@pytest.mark.usefixtures("large")
def test_nothing_is_read_where_nothing_is_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: SharedGraph) -> None:
        raise AssertionError("the graph was read")

    shared = module(PROGRAM)
    monkeypatch.setattr(SharedGraph, "snapshot", fail)
    assert not RequireRunnable().rewrite(shared)
    assert not NameAxes().rewrite(shared)
    assert DropOpenConstraints().rewrite(shared)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_alike(name: str, request: pytest.FixtureRequest) -> None:
    def said() -> str:
        with pytest.raises(ShardcError) as error:
            RequireRunnable().apply(make_context(), read(WRONG[name], Options(file="p.mlir")))
        return str(error.value.diagnostic)

    small = said()
    request.getfixturevalue("large")
    assert said() == small


@pytest.mark.usefixtures("large")
def test_operations_are_those_of_the_graph() -> None:
    shared = module(PROGRAM)
    every = shared.ops()
    assert every == shared.snapshot().ops
    assert {*every} < {*nested([shared.module])}
