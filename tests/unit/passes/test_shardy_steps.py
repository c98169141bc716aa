"""The steps of Shardy's import and export, each against the pass of that name in jaxlib."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.mlir_style import print_as_mlir
from shardc.frontend.mlir import read
from shardc.passes.shardy.export_pipeline import ExportPipeline
from shardc.passes.shardy.permutations import ResolvePermutationFactors
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
        "sdy-remove-all-gather-reduce-scatter-for-cmv1",
        "sdy-pad-for-divisibility",
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


EVEN = (
    MESHES
    + """
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>},
                %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}) {
  %0 = sdy.all_gather [{"a"}, {"b"}] %x out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"a"}]>]>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.dot_general %1, %y, contracting_dims = [1] x [1]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>]>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = sdy.reduce_scatter [{}, {"a"}] %2 out_sharding=<@m, [{}, {"a"}]> : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
"""
)
"""Collectives around products, and borders that divide."""


@with_pinned_jax
@pytest.mark.parametrize("text", [PLAIN, ABOUT_SHARDINGS, EVEN], ids=["plain", "about shardings", "even"])
@pytest.mark.parametrize("name", STEPS)
def test_a_step_does_what_shardys_does(name: str, text: str) -> None:
    if name == "sdy-drop-sharding-and-mesh" and text in (ABOUT_SHARDINGS, EVEN):
        with pytest.raises(ShardcError, match="names a mesh"):
            by_shardc(text, name)
        return
    if name == "sdy-pad-for-divisibility" and text == PLAIN:
        with pytest.raises(ShardcError, match="argument #0 has a non-divisible sharding"):
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


INDEXED = """
func.func @gather(%a: tensor<4x8x16xf32>, %i: tensor<4x1xi32>, %j: tensor<4x1xi32>) -> tensor<4x1xf32> {
  %n = stablehlo.iota dim = 0 : tensor<4xi32>
  %b = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %c = stablehlo.concatenate %i, %b, %j, dim = 1
      : (tensor<4x1xi32>, tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x3xi32>
  %0 = "stablehlo.gather"(%a, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0, 1], start_index_map = [1, 0, 2], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 1, 1>, indices_are_sorted = false}
      : (tensor<4x8x16xf32>, tensor<4x3xi32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}
func.func @scatter(%a: tensor<4x8xi32>, %i: tensor<4x1xi32>, %u: tensor<4xi32>) -> tensor<4x8xi32> {
  %n = stablehlo.iota dim = 0 : tensor<4xi32>
  %b = stablehlo.reshape %n : (tensor<4xi32>) -> tensor<4x1xi32>
  %c = stablehlo.concatenate %b, %i, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.scatter"(%a, %c, %u) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1],
      scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    stablehlo.return %q : tensor<i32>
  }) : (tensor<4x8xi32>, tensor<4x2xi32>, tensor<4xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}
func.func @both_components_count(%a: tensor<4x8xf32>) -> tensor<4x2x1xf32> {
  %c = stablehlo.iota dim = 0 : tensor<4x2x2xi32>
  %0 = "stablehlo.gather"(%a, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [2],
      collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 2>,
      slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}
      : (tensor<4x8xf32>, tensor<4x2x2xi32>) -> tensor<4x2x1xf32>
  return %0 : tensor<4x2x1xf32>
}
func.func @no_iota(%a: tensor<4x8xf32>, %c: tensor<4x2xi32>) -> tensor<4x1xf32> {
  %0 = "stablehlo.gather"(%a, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}
      : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}
func.func @fewer_rows(%a: tensor<4x8xf32>, %i: tensor<3x1xi32>) -> tensor<3x1xf32> {
  %n = stablehlo.iota dim = 0 : tensor<3x1xi32>
  %c = stablehlo.concatenate %n, %i, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  %0 = "stablehlo.gather"(%a, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}
      : (tensor<4x8xf32>, tensor<3x2xi32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}
"""


@with_pinned_jax
def test_batch_dimensions_are_made_explicit_as_in_shardy() -> None:
    name = "sdy-explicit-gather-scatter-batching"
    assert by_jaxlib(by_shardc(INDEXED, name), "") == by_jaxlib(INDEXED, f"func.func({name})")


@pytest.mark.parametrize(
    ("index", "batched"),
    [
        ("stablehlo.select %below, %added, %n : tensor<4x1xi1>, tensor<4x1xi32>", True),
        ("stablehlo.select %below, %n, %added : tensor<4x1xi1>, tensor<4x1xi32>", False),
        ("stablehlo.clamp %zeros, %n, %three : tensor<4x1xi32>", True),
        ("stablehlo.clamp %zeros, %n, %two : tensor<4x1xi32>", False),
    ],
)
def test_an_index_that_is_wrapped_or_clamped_must_still_count(index: str, batched: bool) -> None:
    text = f"""
func.func @main(%a: tensor<4x8xf32>, %i: tensor<4x1xi32>) -> tensor<4x1xf32> {{
  %n = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %zeros = stablehlo.constant dense<0> : tensor<4x1xi32>
  %two = stablehlo.constant dense<2> : tensor<4x1xi32>
  %three = stablehlo.constant dense<3> : tensor<4x1xi32>
  %four = stablehlo.constant dense<4> : tensor<4x1xi32>
  %below = stablehlo.compare LT, %n, %zeros : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
  %added = stablehlo.add %n, %four : tensor<4x1xi32>
  %w = {index}
  %c = stablehlo.concatenate %w, %i, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.gather"(%a, %c) {{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 1>}} : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}}
"""
    assert ("operand_batching" in by_shardc(text, "sdy-explicit-gather-scatter-batching")) == batched


PERMUTED = (
    MESHES
    + """
func.func @slice(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>})
    -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) {
  %0 = stablehlo.slice %x [1:7, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>]>}
      : (tensor<8x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}
func.func @reverse(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) {
  %0 = stablehlo.reverse %x, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {"b"}]>]>}
      : tensor<8x8xf32>
  %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {"b"}]>]>} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""
)


@with_pinned_jax
def test_permuted_dimensions_are_gathered_where_no_halos_are_wanted() -> None:
    name = "sdy-resolve-permutation-factors"
    module = read(PERMUTED, "prog.mlir")
    ResolvePermutationFactors(enable_halo_exchange=False).apply(make_context(), module)
    assert by_jaxlib(print_as_mlir(module), "") == by_jaxlib(
        PERMUTED, f"{name}{{enable-halo-exchange=false}}"
    )
    assert by_jaxlib(by_shardc(PERMUTED, name), "") == by_jaxlib(PERMUTED, "")


@with_pinned_jax
@pytest.mark.parametrize(
    "option",
    [
        "avoid_export_for_partitioning",
        "keep_sharding_rules",
        "avoid_reshards_on_calls",
        "update_non_divisible_input_output_shardings",
    ],
)
@pytest.mark.parametrize("text", [PLAIN, ABOUT_SHARDINGS], ids=["plain", "about shardings"])
def test_the_options_of_the_export(text: str, option: str) -> None:
    value = option != "update_non_divisible_input_output_shardings"
    module = read(text, "prog.mlir")
    SDY_PASSES["sdy-export-pipeline"]()(**{option: value}).apply(make_context(), module)
    written = f"sdy-export-pipeline{{{option.replace('_', '-')}={str(value).lower()}}}"
    assert by_jaxlib(print_as_mlir(module), "") == by_jaxlib(text, written)


def test_the_export_leaves_the_module_after_each_stage_in_a_folder(tmp_path: Path) -> None:
    module, folder = read(ABOUT_SHARDINGS, "prog.mlir"), tmp_path / "a" / "b"
    ExportPipeline(dump_directory=str(folder)).apply(make_context(), module)
    names = ["00.after_propagation.mlir", "01.after_minimal_partitioner_with_global_shapes.mlir"]
    assert sorted(file.name for file in folder.iterdir()) == names
    text = (folder / names[0]).read_text()
    assert "sdy.reshard" in text and "sdy.sharding_group" not in text
    assert (folder / names[1]).read_text() == print_as_mlir(module)


def test_the_export_with_all_collectives() -> None:
    module = read(EVEN, "prog.mlir")
    ExportPipeline(enable_insert_explicit_collectives=True).apply(make_context(), module)
    text = print_as_mlir(module)
    assert "sdy.all_gather" in text and "sdy.reduce_scatter" in text


DYNAMIC = """
func.func @main(%x: tensor<8x8xf32>, %d: tensor<?x8xf32>) -> (tensor<8x8xf32>, tensor<?x8xf32>) {
  %0 = stablehlo.tanh %x : tensor<8x8xf32>
  %1:2 = stablehlo.optimization_barrier %0, %d : tensor<8x8xf32>, tensor<?x8xf32>
  %2 = stablehlo.custom_call @sdy_testonly(%1#1) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1#0, %2 : tensor<8x8xf32>, tensor<?x8xf32>
}
"""


@with_pinned_jax
@pytest.mark.parametrize("name", ["sdy-add-data-flow-edges", "sdy-import-pipeline"])
def test_values_of_dynamic_shape_are_skipped(name: str) -> None:
    module = read(DYNAMIC, "prog.mlir", dynamic=True)
    SDY_PASSES[name]()().apply(make_context(), module)
    assert by_jaxlib(print_as_mlir(module), "") == by_jaxlib(DYNAMIC, name)


def test_what_needs_sizes_refuses_values_of_dynamic_shape() -> None:
    with pytest.raises(ShardcError, match="dynamic shape"):
        read(DYNAMIC, "prog.mlir")
    with pytest.raises(ShardcError, match="dynamic shape"):
        read(DYNAMIC.replace("@sdy_testonly", "@mhlo.erf"), "prog.mlir", dynamic=True)
