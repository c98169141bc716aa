"""Shardy's passes on functions, calls and edges, and its pipelines, against jaxlib's passes of the name."""

from __future__ import annotations

import re
from random import Random
from types import ModuleType
from typing import Any

import pytest

from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.mlir_style import print_as_mlir
from shardc.frontend.mlir import read
from shardc.passes.shardy.table import SDY_PASSES
from tests.pinned import with_pinned_jax

mlir = pytest.importorskip("jax._src.interpreters.mlir")
ir = pytest.importorskip("jaxlib.mlir.ir")
passmanager = pytest.importorskip("jaxlib.mlir.passmanager")

MESH = 'sdy.mesh @m = <["a"=2, "b"=2, "c"=2]>\n'
CALLS = (
    MESH
    + """
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {?}]>}) -> tensor<8x8xf32> {
  %0 = func.call @f(%x) {foo = "bar"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = func.call @f(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = func.call @g(%1) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {"b"}]>]>}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = func.call @g(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
func.func private @unused(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  return %x : tensor<8x8xf32>
}
func.func private @g(%x: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", ?}, {?}], replicated={"c"}>}) {
  %0 = func.call @f(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.negate %0
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {"b"}], unreduced={"a"}>]>} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
func.func @f(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"b"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
)
COPIES = (
    MESH
    + """
func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0:2 = func.call @f(%x, %y) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}, {}]>, <@m, [{"a"}, {}]>]>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %1:2 = func.call @f_0(%0#0, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %2:2 = func.call @f_1(%0#0, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %1#0, %2#1, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
"""
    + "".join(
        f"func.func private @{name}(%x: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@m, {first}>}}, "
        f"%y: tensor<8x8xf32>) -> (tensor<8x8xf32>{second}, tensor<8x8xf32>)\n"
        '    attributes {sdy.original_func_name = "f"} {\n'
        "  return %x, %y : tensor<8x8xf32>, tensor<8x8xf32>\n}\n"
        for name, first, second in (
            ("f", '[{?}, {"b"}]', ' {sdy.sharding = #sdy.sharding<@m, [{"b", ?}, {?}]>}'),
            ("f_0", '[{"a", ?}, {}]', ""),
            ("f_1", '[{"a", ?}, {}]', ""),
        )
    )
)
MANUAL = (
    MESH
    + """
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a", ?}, {?}]>]
      out_shardings=[<@m, [{"b"}, {?}], replicated={"c"}>] manual_axes={"b", "a"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<mesh<[]>, [{}, {?}]>]
      out_shardings=[<@m, [{}, {?}], unreduced={"c"}>] manual_axes={"c", "a"} (%y: tensor<8x8xf32>) {
    sdy.return %y : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""
)
GROUPS = (
    MESH
    + "func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {\n"
    + "".join(
        f"  sdy.sharding_group %{value} group_id={group} : tensor<8xf32>\n"
        for value, group in (("x", 5), ("y", 5), ("z", 3), ("z", 9), ("z", 3), ("x", 7), ("y", 7))
    )
    + "  return %x : tensor<8xf32>\n}\n"
)
UNEVEN = (
    'sdy.mesh @m = <["a"=4, "b"=2]>\n'
    + """
func.func @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a":(1)2, "b", ?}p2, {"a":(2)2}]>})
    -> tensor<6x8xf32> {
  %0 = func.call @g(%x) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {"b", ?}p1]>]>}
      : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"a"}, {"b"}]>] out_shardings=[<@m, [{"a"}, {"b"}]>]
      manual_axes={"b"} (%y: tensor<6x4xf32>) {
    sdy.return %y : tensor<6x4xf32>
  } : (tensor<6x8xf32>) -> tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}
func.func private @g(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a":(1)2, ?}, {?}]>})
    -> tensor<6x8xf32> {
  return %x : tensor<6x8xf32>
}
"""
)
DEBUGGED = (
    MESH
    + """
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>,
                                   sdy.sharding_origins = {a = "self"}})
    -> (tensor<8xf32> {sdy.sharding_origins = {a = "input: 0"}, jax.other = 1 : i32}) {
  %0 = stablehlo.tanh %x {sdy.sharding_origins = [{a = "input: 0"}], other, sdy.propagation_edges
      = #sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [result-0]}]}]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
)
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("symbol-dce", CALLS, {}),
    ("sdy-flatten-call-graph", CALLS, {}),
    ("sdy-import-func-calls", CALLS, {}),
    ("sdy-import-func-calls", CALLS, {"add_data_flow_edges_on_named_computations": False}),
    ("sdy-propagate-sharding-from-func-to-call", CALLS, {}),
    ("sdy-propagate-to-func-results", CALLS, {}),
    ("sdy-insert-func-call-reshards", CALLS, {}),
    ("sdy-insert-func-call-reshards", COPIES, {}),
    ("sdy-unflatten-call-graph", COPIES, {}),
    ("sdy-unflatten-call-graph", COPIES, {"dedup_functions_fully": True}),
    ("sdy-pre-order-funcs", CALLS, {}),
    ("sdy-inline-meshes", CALLS, {}),
    ("sdy-add-func-data-flow-edges", CALLS, {}),
    ("sdy-manual-axes-cleanup", MANUAL, {}),
    ("sdy-sharding-group-import", GROUPS, {}),
    ("sdy-remove-propagation-debug-info", DEBUGGED, {}),
    ("sdy-update-non-divisible-input-output-shardings", UNEVEN, {}),
    ("sdy-remove-sub-axes-in-input-output-shardings", UNEVEN, {}),
]


def by_jaxlib(text: str, passes: str) -> str:
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return str(module)


def by_shardc(text: str, name: str, **options: Any) -> str:
    module = read(text, "prog.mlir")
    with collecting():
        SDY_PASSES[name]()(**options).apply(make_context(), module)
    module.verify()
    return by_jaxlib(print_as_mlir(module), "")


def named(name: str, options: dict[str, Any]) -> str:
    given = (f"{key.replace('_', '-')}={str(value).lower()}" for key, value in options.items())
    return f"{name}{{{' '.join(given)}}}" if options else name


IDS = [f"{name}-{number}" for number, (name, _, _) in enumerate(CASES)]


@pytest.mark.parametrize(("name", "text", "options"), CASES, ids=IDS)
def test_a_pass_does_what_shardys_does(name: str, text: str, options: dict[str, Any]) -> None:
    assert by_shardc(text, name, **options) == by_jaxlib(text, named(name, options))


def test_computations_become_functions_with_the_shardings_of_their_edges() -> None:
    text = by_jaxlib(CALLS, "sdy-flatten-call-graph,sdy-import-func-calls,sdy-basic-propagate")
    wanted = by_jaxlib(text, "sdy-export-named-computations")
    assert by_shardc(text, "sdy-export-named-computations") == wanted


@pytest.mark.parametrize("layer", ["basic", "user-priority"])
def test_shardings_flow_through_the_edges_of_functions(layer: str) -> None:
    text = by_jaxlib(CALLS.replace('unreduced={"a"}', 'replicated={"c"}'), "sdy-add-func-data-flow-edges")
    found = by_shardc(text, f"sdy-{layer}-propagate")
    assert found == by_jaxlib(text, f"sdy-{layer}-propagate")
    sunk = by_jaxlib(found, "func.func(sdy-sink-func-data-flow-edges)")
    assert by_shardc(found, "sdy-sink-func-data-flow-edges") == sunk


def test_edges_are_added_once() -> None:
    edges = "add-data-flow-edges-on-named-computations"
    text = by_jaxlib(CALLS, f"sdy-import-func-calls{{{edges}=false}}")
    once = by_shardc(text, "sdy-add-data-flow-edges")
    assert "sdy.data_flow_edge" in once
    assert by_shardc(once, "sdy-add-data-flow-edges") == once


CONTRADICTION = (
    MESH
    + """
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>},
                %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"b"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %x : tensor<8x8xf32>
  %1 = stablehlo.add %0, %y : tensor<8x8xf32>
  sdy.sharding_group %x group_id=0 : tensor<8x8xf32>
  sdy.sharding_group %y group_id=0 : tensor<8x8xf32>
  sdy.sharding_group %1 group_id=0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""
)


def test_members_of_a_group_that_contradict_each_other() -> None:
    wanted = by_jaxlib(CONTRADICTION, "sdy-basic-propagate")
    assert wanted.count("sdy.sharding_constraint") == 3
    assert by_shardc(CONTRADICTION, "sdy-basic-propagate") == wanted


FEATURES = "while case opt constraint group calls barrier unreduced meshes manual".split()
STEPS = (
    "sdy-import-pipeline",
    "sdy-flatten-call-graph",
    "symbol-dce",
    "sdy-import-func-calls",
    "sdy-apply-sharding-constraints",
    "sdy-sharding-group-import",
    "sdy-pre-order-funcs",
    "sdy-user-priority-propagate{keep-sharding-rules=true}",
    "sdy-export-named-computations",
    "sdy-propagate-to-func-results",
    "sdy-unflatten-call-graph{dedup-functions-fully=true}",
    "symbol-dce",
    "sdy-insert-func-call-reshards",
    "sdy-export-pipeline",
)


def without_rules(text: str) -> str:
    """Shardy leaves the rule of every constraint that it applies; the layers drop it."""
    return re.sub(r" \{sdy.sharding_rule = [^\n]*?>\}(?= :)", "", text)


@with_pinned_jax
@pytest.mark.parametrize("seed", [21, 23, 36])
def test_random_programs_step_by_step(seed: int, programs: ModuleType) -> None:
    text = programs.Program(Random(seed), frozenset(FEATURES)).text(6 + seed % 10)
    for step in STEPS:
        wanted = by_jaxlib(text, step)
        name, _, option = step.partition("{")
        options = {option.partition("=")[0].replace("-", "_"): True} if option else {}
        found = by_shardc(text, name, **options)
        if name == "sdy-apply-sharding-constraints":
            wanted, found = without_rules(wanted), without_rules(found)
        assert found == wanted, f"{step} of\n{text}"
        text = wanted


SHARED = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x2xi32>) -> tensor<8x2xi32> {
  %0 = stablehlo.add %x, %x : tensor<8x2xi32>
  %1 = func.call @foo(%0) : (tensor<8x2xi32>) -> tensor<8x2xi32>
  %2 = func.call @bar(%0) : (tensor<8x2xi32>) -> tensor<8x2xi32>
  return %2 : tensor<8x2xi32>
}
func.func private @foo(%x: tensor<8x2xi32>) -> tensor<8x2xi32> {
  %0 = stablehlo.abs %x : tensor<8x2xi32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"a"}, {}]> : tensor<8x2xi32>
  %2 = sdy.sharding_constraint %0 <@mesh, [{"b"}, {}]> : tensor<8x2xi32>
  %3 = stablehlo.abs %2 : tensor<8x2xi32>
  %4 = func.call @bar(%3) : (tensor<8x2xi32>) -> tensor<8x2xi32>
  return %4 : tensor<8x2xi32>
}
func.func private @bar(%x: tensor<8x2xi32>) -> tensor<8x2xi32> {
  return %x : tensor<8x2xi32>
}
"""


def test_calls_that_share_a_function_share_its_shardings() -> None:
    wanted = by_jaxlib(SHARED, "sdy-propagation-pipeline{dedup-functions-fully=true}")
    assert by_shardc(SHARED, "sdy-propagation-pipeline", dedup_functions_fully=True) == wanted


@pytest.mark.parametrize("seed", range(0, 19, 3))
def test_random_programs_whose_calls_share_functions(seed: int, programs: ModuleType) -> None:
    features = frozenset(["calls", "constraint", *Random(seed).sample(FEATURES, seed % 5)])
    text = programs.Program(Random(seed), features).text(5 + seed % 10)
    wanted = by_jaxlib(text, "sdy-propagation-pipeline{dedup-functions-fully=true}")
    assert by_shardc(text, "sdy-propagation-pipeline", dedup_functions_fully=True) == wanted


def test_a_constraint_that_makes_a_value_partial() -> None:
    text = (
        'sdy.mesh @m = <["x"=2, "z"=2]>\n'
        "func.func @main(%a: tensor<8xf32>)\n"
        '    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"z"}], unreduced={"x"}>},\n'
        "        tensor<8xf32>) {\n"
        '  %0 = sdy.sharding_constraint %a <@m, [{"z"}], unreduced={"x"}> : tensor<8xf32>\n'
        "  %1 = stablehlo.tanh %0 : tensor<8xf32>\n"
        "  return %0, %1 : tensor<8xf32>, tensor<8xf32>\n}\n"
    )
    assert by_shardc(text, "sdy-propagation-pipeline") == by_jaxlib(text, "sdy-propagation-pipeline")


PARTIAL = (
    'sdy.mesh @m = <["x"=2, "y"=2]>\n'
    + """
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = func.call @foo(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = func.call @foo(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
func.func private @foo(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""
)


@with_pinned_jax
def test_a_partial_result_of_a_function_that_is_called_twice() -> None:
    wanted = by_jaxlib(PARTIAL, "sdy-propagation-pipeline")
    assert by_shardc(PARTIAL, "sdy-propagation-pipeline") == wanted


@with_pinned_jax
@pytest.mark.parametrize(
    ("has", "wants"),
    [
        ('[{"x"}, {}]', '[{}, {}], unreduced={"x"}'),
        ('[{"x"}, {}]', '[{}, {}], unreduced={"x", "y"}'),
        ('[{"x", "y"}, {}]', '[{"y"}, {}], unreduced={"x"}'),
        ('[{"y"}, {}]', '[{"y"}, {}], unreduced={"x"}'),
        ('[{}, {}], unreduced={"y"}', '[{}, {"y"}], unreduced={"x"}'),
    ],
)
def test_results_that_are_to_be_partial(has: str, wants: str) -> None:
    text = (
        'sdy.mesh @m = <["x"=2, "y"=2]>\n'
        "func.func @main(%a: tensor<8x8xf32>)\n"
        f"    -> (tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@m, {wants}>}}) {{\n"
        f"  %0 = stablehlo.tanh %a {{sdy.sharding = #sdy.sharding_per_value<[<@m, {has}>]>}}"
        " : tensor<8x8xf32>\n"
        "  return %0 : tensor<8x8xf32>\n}\n"
    )
    assert by_shardc(text, "sdy-export-pipeline") == by_jaxlib(text, "sdy-export-pipeline")


def chain(length: int) -> str:
    """Functions that call each other, `length` of them."""
    types = "(tensor<8xf32>) -> tensor<8xf32>"
    bodies = "".join(
        f"func.func private @f{i}(%x: tensor<8xf32>) -> tensor<8xf32> {{\n"
        f"  %0 = func.call @f{i + 1}(%x) : {types}\n  return %0 : tensor<8xf32>\n}}\n"
        for i in range(length - 1)
    )
    return (
        f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{\n  %0 = func.call @f0(%x) : {types}\n"
        f"  return %0 : tensor<8xf32>\n}}\n{bodies}"
        f"func.func private @f{length - 1}(%x: tensor<8xf32>) -> tensor<8xf32> {{\n"
        "  return %x : tensor<8xf32>\n}\n"
    )


@pytest.mark.parametrize("name", ["sdy-import-func-calls", "sdy-propagation-pipeline"])
def test_calls_that_are_nested_too_deep_are_an_error(name: str) -> None:
    by_shardc(chain(40), name)
    with pytest.raises(ShardcError, match="more than 100 deep in @main"):
        by_shardc(chain(100), name)


@pytest.mark.parametrize("name", ["sdy-flatten-call-graph", "sdy-propagation-pipeline"])
def test_functions_that_call_themselves_are_an_error(name: str) -> None:
    again = "  %0 = func.call @f0(%x) : (tensor<8xf32>) -> tensor<8xf32>\n  return %0"
    with pytest.raises(ShardcError, match="calls itself"):
        by_shardc(chain(3).replace("  return %x", again), name)


def test_several_functions_without_a_main_are_an_error() -> None:
    with pytest.raises(ShardcError, match="none is called main"):
        by_shardc(chain(2).replace("@main", "@entry"), "sdy-add-func-data-flow-edges")
