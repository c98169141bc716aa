"""Collectives that a global program spells out: each is done once, and the program means what it meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shardc.compilation import lower
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.read import read
from shardc.graph import Graph, walk
from shardc.interpret.arguments import arguments
from shardc.interpret.compare import compare
from shardc.interpret.reference import GraphReference
from shardc.interpret.run import run
from shardc.ops import Trait, has
from shardc.options import Options

PROGRAMS = Path(__file__).parent / "programs"
MESH = 'sdy.mesh @m = <["x"=2, "y"=2]>\n'


def sharded(dims: str, unreduced: str = "") -> str:
    rest = f", unreduced={unreduced}" if unreduced else ""
    return f"{{sdy.sharding = #sdy.sharding<@m, [{dims}]{rest}>}}"


def compiled(text: str) -> tuple[Graph, Graph]:
    """The program as it is read, and for a device; its results on random inputs are those of one device."""
    options = Options(file="prog.mlir", language="mlir")
    with collecting():
        module = read(text, options)
        whole = snapshot(module.clone()).graph
        local = lower(module, options)
        assert all(
            result.same for result in compare(GraphReference(whole), local, arguments(whole, None, ""))
        )
    return whole, local


def collectives(graph: Graph) -> list[str]:
    nodes = [node for function in graph.functions.values() for node in walk(function.body)]
    return [node.name for node in nodes if has(node.name, Trait.COLLECTIVE)]


PRODUCT = (
    MESH
    + f"""func.func @main(%a: tensor<8x16xf32> {sharded('{}, {"x"}')},
    %b: tensor<16x8xf32> {sharded('{"x"}, {}')}) -> tensor<8x8xf32> {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = END
  return %1 : tensor<8x8xf32>
}}"""
)


@pytest.mark.parametrize(
    ("end", "sent"),
    [
        ('sdy.all_reduce {"x"} %0 out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>', ["spmd.all_reduce"]),
        (
            'sdy.reduce_scatter [{"x"}, {}] %0 out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>',
            ["spmd.reduce_scatter", "spmd.all_gather"],
        ),
    ],
)
def test_a_contracted_product_is_summed_once(end: str, sent: list[str]) -> None:
    assert collectives(compiled(PRODUCT.replace("END", end))[1]) == sent


def test_a_gather_along_a_split_dimension_is_summed_once() -> None:
    text = (
        MESH
        + f"""func.func @main(%a: tensor<4x2xf32> {sharded('{"x"}, {}')}, %i: tensor<2xi64>)
    -> tensor<2x2xf32> {{
  %0 = "stablehlo.gather"(%a, %i) {{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 2>{{KIND}}}} : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = sdy.all_reduce{{MAX}} {{"x"}} %0 out_sharding=<@m, [{{}}, {{}}]> : tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}}"""
    )
    plain = text.replace("{KIND}", "").replace("{MAX}", "")
    assert collectives(compiled(plain)[1]) == ["spmd.all_reduce"]
    kind = ', sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@m, [{}, {}], unreduced=max{"x"}>]>'
    compiled(text.replace("{KIND}", kind).replace("{MAX}", " max"))


def test_a_maximum_stays_one() -> None:
    _, local = compiled(
        MESH
        + f"""func.func @main(%a: tensor<4x8xf32> {sharded('{}, {"x"}')}) -> tensor<4xf32> {{
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.maximum across dimensions = [1]
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = sdy.all_reduce {{"x"}} %0 out_sharding=<@m, [{{}}]> : tensor<4xf32>
  return %1 : tensor<4xf32>
}}"""
    )
    (end,) = (node for node in walk(local.main.body) if has(node.name, Trait.COLLECTIVE))
    assert end.attrs["kind"] == "max"


@pytest.mark.parametrize(
    ("argument", "times"), [(sharded("{}"), 2), (sharded("{}", '{"x"}'), 1)], ids=["whole", "partial"]
)
def test_copies_of_an_argument_are_added_and_parts_of_it_are_not(argument: str, times: int) -> None:
    whole, _ = compiled(
        MESH
        + f"""func.func @main(%a: tensor<4xf32> {argument}) -> tensor<4xf32> {{
  %0 = sdy.all_reduce {{"x"}} %a out_sharding=<@m, [{{}}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""
    )
    given = np.arange(4, dtype=np.float32)
    assert np.array_equal(run(whole, [given])[0], given * times)


def moved(source: str, change: str, target: str) -> str:
    return (
        MESH
        + f"""func.func @main(%a: tensor<8x16xf32> {sharded(source)})
    -> (tensor<8x16xf32> {sharded(target)}) {{
  %0 = {change} out_sharding=<@m, [{target}]> : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}}"""
    )


@pytest.mark.parametrize(
    ("source", "change", "target"),
    [
        ('{"x", "y"}, {}', 'sdy.all_to_all [{"x", "y"}: 0->1] %a', '{}, {"x", "y"}'),
        ('{"x", "y"}, {}', 'sdy.all_to_all [{"y", "x"}: 0->1] %a', '{}, {"y", "x"}'),
        ('{"x", "y"}, {}', 'sdy.all_to_all [{"y"}: 0->1] %a', '{"x"}, {"y"}'),
        ('{"x"}, {"y"}', "sdy.collective_permute %a", '{"y"}, {"x"}'),
        ('{"x", "y"}, {}', "sdy.collective_permute %a", '{"y", "x"}, {}'),
        ('{"x"}, {"y"}', 'sdy.all_gather [{"x"}, {"y"}] %a', "{}, {}"),
        ("{}, {}", 'sdy.all_slice [{"x"}, {"y"}] %a', '{"x"}, {"y"}'),
    ],
)
def test_blocks_move_as_they_are_told(source: str, change: str, target: str) -> None:
    compiled(moved(source, change, target))


def test_axes_that_meet_in_a_dimension_may_be_told_by_where_they_come_from() -> None:
    """As the stage with collectives has them: by source, though y is the major one where they arrive."""
    text = f"""func.func @main(%a: tensor<8x8x8xf32> {sharded('{"x"}, {"y"}, {}')}) -> tensor<8x8x8xf32> {{
      %0 = sdy.all_to_all [{{"x"}}: 0->2, {{"y"}}: 1->2] %a
          out_sharding=<@m, [{{}}, {{}}, {{"y", "x"}}]> : tensor<8x8x8xf32>
      return %0 : tensor<8x8x8xf32>
    }}"""
    assert collectives(compiled(MESH + text)[1])[0] == "spmd.all_to_all"


def test_parts_of_an_axis_change_places() -> None:
    text = moved('{"x":(1)2, "y", "x":(2)2}, {}', "sdy.collective_permute %a", '{"x", "y"}, {}')
    compiled(text.replace('"x"=2', '"x"=4'))


@pytest.mark.parametrize(
    ("change", "target", "said"),
    [
        ('sdy.all_slice [{"x"}, {}] %a', '{"y"}, {}', "does not end in the axes"),
        ('sdy.all_reduce {"x"} %a', '{"x"}, {}', "axis x is used twice"),
        ("sdy.collective_permute %a", '{"x"}, {}', "are not those of"),
        ('sdy.all_gather [{"x"}] %a', "{}, {}", "listed for 1 dimensions"),
        ('sdy.all_to_all [{"x"}: 0->1, {"y"}: 1->0] %a', '{"y"}, {"x"}', "these are two changes"),
        ('sdy.all_to_all [{"x"}: 0->2] %a', '{}, {"x"}', "move from dimension 0 to 2"),
    ],
)
def test_a_change_that_cannot_be_is_an_error(change: str, target: str, said: str) -> None:
    with pytest.raises(ShardcError, match=said) as error:
        compiled(moved("{}, {}", change, target))
    assert error.value.diagnostic.loc.line == 4


@pytest.mark.parametrize(
    "line",
    [
        '%e = sdy.all_reduce {"x"} %b out_sharding=<@m, [{}]> : tensor<4xf32>',
        '%e = sdy.sharding_constraint %b <@m, [{"x"}]> : tensor<4xf32>',
        '%e = stablehlo.tanh %b {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<4xf32>',
    ],
)
def test_code_of_one_device_along_an_axis_cannot_use_it(line: str) -> None:
    text = (
        MESH
        + f"""func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x"}}]>] out_shardings=[<@m, [{{"x"}}]>]
      manual_axes={{"x"}} (%b: tensor<4xf32>) {{
    {line}
    sdy.return %e : tensor<4xf32>
  }} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}"""
    )
    with pytest.raises(ShardcError, match='names axis "x", which is manual here'):
        read(text, Options(file="prog.mlir", language="mlir"))


@pytest.mark.parametrize("name", ["partial_types", "weights_2d", "uneven_reductions", "pipeline", "ulysses"])
def test_the_stage_with_collectives_compiles_again(name: str) -> None:
    path = PROGRAMS / f"{name}.shard"
    options = Options(file=str(path))
    with collecting():
        module = read(path.read_text(encoding="utf-8"), options)
        first = lower(module.clone(), options)
        lower(module, options, "collectives")
        _, again = compiled(print_module(module))
    assert collectives(again) == collectives(first)
