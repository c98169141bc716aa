"""Which collectives and bodies are refused: those that jaxlib's Shardy refuses, or that change the value."""

from __future__ import annotations

import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.unit.dialects.test_verified_as_shardy import assert_alike, refused, refused_by_shardy

MESHES = """sdy.mesh @m = <["x"=8, "y"=2]>
sdy.mesh @same = <["x"=8, "y"=2]>
sdy.mesh @turned = <["x"=8, "y"=2], device_ids=[1,0,2,3,4,5,6,7,8,9,10,11,12,13,14,15]>
sdy.mesh @other = <["a"=8, "b"=2]>
"""


def collective(words: str, source: str, target: str, type: str = "16x8xf32") -> str:
    stated = f" {{sdy.sharding = #sdy.sharding<{source}>}}" if source else ""
    return f"""{MESHES}func.func @f(%0: tensor<{type}>{stated}) -> tensor<{type}> {{
  %1 = sdy.{words} %0 out_sharding=<{target}> : tensor<{type}>
  return %1 : tensor<{type}>
}}"""


# The collective, the sharding of its operand, that of its result
CHANGES = (
    ('all_gather [{}, {"x"}]', '[{"y"}, {"x"}]', '[{"y"}, {}]'),
    ('all_gather [{}, {"x":(2)4}]', '[{"y"}, {"x"}]', '[{"y"}, {"x":(1)2}]'),
    ('all_gather [{}, {"x"}]', '[{"y", ?}p1, {"x", ?}]', '[{"y"}, {?}]'),
    ('all_gather [{}, {"x"}]', '[{}, {"x"}]', '[{}, {}], replicated={"x"}'),
    ("all_gather [{}, {}]", '[{"y"}, {"x"}]', '[{"y"}, {"x"}]'),
    ('all_gather [{"y"}, {}]', '[{"y"}, {"x"}]', '[{}, {"x", "x"}]'),
    ('all_gather [{}, {"x":(1)2, "x":(2)4}]', '[{"y"}, {"x"}]', '[{"y"}, {}]'),
    ('all_gather [{"y", "x"}, {"x"}]', '[{"y"}, {"x"}]', "[{}, {}]"),
    ("all_gather [{}]", '[{"y"}, {"x"}]', '[{"y"}, {"x"}]'),
    ('all_gather [{}, {"x", "y"}]', '[{"y"}, {"x"}]', '[{"y"}, {}]'),
    ('all_gather [{"x", "y"}, {}]', '[{"y"}, {}]', "[{}, {}]"),
    ('all_gather [{}, {"x"}]', '[{"y"}, {"x":(1)2}]', '[{"y"}, {}]'),
    ('all_gather [{}, {"x":(2)2}]', '[{"y"}, {"x"}]', '[{"y"}, {}]'),
    ('all_gather [{}, {"x"}]', '[{"y"}, {"x"}]', '[{"y"}, {"x"}]'),
    ('all_slice [{}, {"x"}]', "[{}, {}]", '[{}, {"x"}]'),
    ('all_slice [{}, {"x"}]', '[{}, {}], replicated={"x"}', '[{}, {"x"}]'),
    ('all_slice [{}, {"x":(2)2}]', '[{"y"}, {"x":(1)2}]', '[{"y"}, {"x":(1)4}]'),
    ('all_slice [{}, {"x":(2)2}]', '[{"y"}, {}]', '[{"y"}, {"x"}]'),
    ('all_slice [{}, {"x"}]', '[{"y"}, {"x"}]', '[{"y"}, {"x"}]'),
    ('all_slice [{"x", "y"}, {}]', "[{}, {}]", '[{"y"}, {}]'),
    ('all_slice [{"x", "y"}, {}]', "[{}, {}]", '[{"y", "x"}, {}]'),
    ('all_slice [{}, {"z"}]', "[{}, {}]", '[{}, {"z"}]'),
    ('all_to_all [{"x"}: 0->1]', '[{"y", "x"}, {}]', '[{"y"}, {"x"}]'),
    ('all_to_all [{"y"}: 0->1]', '[{"y"}, {"x"}]', '[{}, {"x", "y"}]'),
    ('all_to_all [{"y"}: 0->1]', '[{"y"}, {"x"}]', '[{}, {"y", "x"}]'),
    ("all_to_all []", '[{"y"}, {"x"}]', '[{"y"}, {"x"}]'),
    ("all_to_all [{}: 0->1]", '[{"y"}, {"x"}]', '[{"y"}, {"x"}]'),
    ('all_to_all [{"y"}: 2->1]', '[{}, {"y"}]', '[{"y"}, {}]'),
    ('all_to_all [{"y"}: 0->-1]', '[{"y"}, {}]', '[{}, {"y"}]'),
    ('all_to_all [{"y"}: 0->0]', '[{"y"}, {}]', '[{"y"}, {}]'),
    ('all_to_all [{"x", "y"}: 0->1]', '[{"y"}, {}]', '[{}, {"x", "y"}]'),
    ('all_to_all [{"x"}: 1->0, {"y"}: 0->1]', '[{"y"}, {"x"}]', '[{"x"}, {"y"}]'),
    ("collective_permute", '[{"x"}, {"y"}]', '[{"x"}, {"y"}]'),
    ("collective_permute", '[{"x":(1)2}, {}]', '[{"y"}, {}]'),
    ("collective_permute", '[{"x"}, {}]', "[{}, {}]"),
    ("collective_permute", '[{"y"}, {}]', '[{}, {"y"}]'),
    ('all_reduce {"y"}', '[{"x"}, {}]', '[{"x"}, {}]'),
    ('all_reduce {"y"}', '[{"x"}, {}], unreduced={"y"}', '[{"x"}, {}]'),
    ('all_reduce {"y"}', '[{"x"}, {}]', '[{"x"}, {}], replicated={"y"}'),
    ('all_reduce {"x", "y"}', '[{}, {}], unreduced={"x"}', "[{}, {}]"),
    ('all_reduce {"x"}', '[{}, {}], unreduced={"x", "y"}', '[{}, {}], unreduced={"y"}'),
    ('all_reduce {"x"}', '[{"x"}, {}]', '[{"x"}, {}]'),
    ('all_reduce {"y"}', '[{"x"}, {}], replicated={"y"}', '[{"x"}, {}], replicated={"y"}'),
    ('all_reduce {"y"}', '[{"x"}, {}]', '[{}, {"x"}]'),
    ('all_reduce {"y", "y"}', '[{"x"}, {}]', '[{"x"}, {}]'),
    ('all_reduce {"y", "x"}', "[{}, {}]", "[{}, {}]"),
    ('all_reduce {"x":(1)2, "x":(2)2}', "[{}, {}]", "[{}, {}]"),
    ('all_reduce {"x"}', '[{}, {}], unreduced={"x"}', '[{}, {}], unreduced={"x"}'),
    ('reduce_scatter [{}, {"y"}]', '[{"x"}, {}]', '[{"x"}, {"y"}]'),
    ('reduce_scatter [{}, {"y"}]', '[{"x"}, {}], replicated={"y"}', '[{"x"}, {"y"}]'),
    ('reduce_scatter [{}, {"y"}]', '[{"x"}, {}], unreduced={"y"}', '[{"x"}, {"y"}]'),
    ('reduce_scatter [{"x"}, {}]', '[{"x"}, {}]', '[{"x"}, {}]'),
    ('reduce_scatter [{}, {"y"}]', '[{"x"}, {}]', '[{"x", "y"}, {}]'),
    ('reduce_scatter [{"y"}, {"y"}]', '[{"x"}, {}]', '[{"x"}, {"y"}]'),
    ('sharded_to_unreduced [{"y"}, {}]', '[{"x", "y"}, {}]', '[{"x"}, {}], unreduced={"y"}'),
    ('sharded_to_unreduced [{"x"}, {}]', '[{"x", "y"}, {}]', '[{"y"}, {}], unreduced={"x"}'),
    ('sharded_to_unreduced [{"y"}, {}]', '[{"x"}, {}]', '[{"x"}, {}], unreduced={"y"}'),
    ('sharded_to_unreduced [{"x"}, {}]', '[{"x"}, {}]', "[{}, {}]"),
    ('replicated_to_unreduced {"x"}', '[{}, {"y"}], replicated={"x"}', '[{}, {"y"}], unreduced={"x"}'),
    ('replicated_to_unreduced {"y"}', '[{}, {"y"}]', '[{}, {}], unreduced={"y"}'),
    ('replicated_to_unreduced {"x"}', '[{}, {}], unreduced={"x"}', '[{}, {}], unreduced={"x"}'),
    ("replicated_to_unreduced {}", '[{}, {}], unreduced={"x"}', '[{}, {}], unreduced={"x"}'),
)


@pytest.mark.parametrize(("words", "source", "target"), CHANGES)
def test_collectives(words: str, source: str, target: str) -> None:
    assert_alike(collective(words, f"@m, {source}", f"@m, {target}"))


@pytest.mark.parametrize("mesh", ["same", "turned", "other"])
@pytest.mark.parametrize("words", ["collective_permute", 'all_gather [{"x"}, {}]'])
def test_meshes(words: str, mesh: str) -> None:
    if (words, mesh) == ("collective_permute", "same"):
        return  # Shardy asks for one name of one mesh
    axes = '{"x"}' if mesh != "other" else '{"a"}'
    target = '[{"x"}, {}]' if words == "collective_permute" else "[{}, {}]"
    assert_alike(collective(words, f"@{mesh}, [{axes}, {{}}]", f"@m, {target}"))


@pytest.mark.parametrize(
    ("moves", "source", "target"),
    [
        ('[{"y"}: 0->1, {"x"}: 2->3]', '[{"y"}, {}, {"x"}, {}]', '[{}, {"y"}, {}, {"x"}]'),
        ('[{"x"}: 2->3, {"y"}: 0->1]', '[{"y"}, {}, {"x"}, {}]', '[{}, {"y"}, {}, {"x"}]'),
        ('[{"x"}: 0->1, {"x"}: 2->3]', '[{"x"}, {}, {"y"}, {}]', '[{}, {"x"}, {"y"}, {}]'),
    ],
)
def test_several_moves(moves: str, source: str, target: str) -> None:
    assert_alike(collective(f"all_to_all {moves}", f"@m, {source}", f"@m, {target}", "8x8x8x8xf32"))


@pytest.mark.parametrize(
    ("moves", "source", "target"),
    [
        ('[{"x"}: 0->1, {"y"}: 0->2]', '[{"x", "y"}, {}, {}, {}]', '[{}, {"x"}, {"y"}, {}]'),
        ('[{"x"}: 0->1, {"y"}: 2->1]', '[{"x"}, {}, {"y"}, {}]', '[{}, {"x", "y"}, {}, {}]'),
    ],
)
def test_moves_of_one_dimension(moves: str, source: str, target: str) -> None:
    """They are read as older jaxlibs read them; from 0.11 on, jaxlib wants one move of a dimension."""
    text = collective(f"all_to_all {moves}", f"@m, {source}", f"@m, {target}", "8x8x8x8xf32")
    assert not refused(text)
    theirs = refused_by_shardy(text)
    assert not theirs or "overlapping source/target dimensions" in theirs


def test_an_operand_without_a_sharding_is_brought_there() -> None:
    text = collective('all_gather [{"x"}, {}]', "", "@m, [{}, {}]")
    assert refused_by_shardy(text) and not refused(text)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ('[{}, {}], unreduced={"x", "y"}', "[{}, {}]"),
        ("[{}, {}]", '[{}, {}], unreduced={"y"}'),
    ],
)
def test_partial_results_that_come_and_go(source: str, target: str) -> None:
    """jaxlib lets an all_reduce over x end sums over y, and up to 0.10 begin them."""
    text = collective('all_reduce {"x"}', f"@m, {source}", f"@m, {target}")
    assert "sdy.all_reduce: its operand is [-, -]" in refused(text)


def manual(shardings: str, axes: str, types: str, body: str = "sdy.return %1 : LOCAL") -> str:
    whole, local = types.split()
    before, after = shardings.split(" / ")
    return f"""{MESHES}func.func @f(%0: WHOLE) -> WHOLE {{
  %9 = sdy.manual_computation(%0) in_shardings=[{before}] out_shardings=[{after}]
      manual_axes={{{axes}}} (%1: LOCAL) {{
    {body}
  }} : (WHOLE) -> WHOLE
  return %9 : WHOLE
}}""".replace("WHOLE", f"tensor<{whole}>").replace("LOCAL", f"tensor<{local}>")


X, WHOLE, COPIES = '<@m, [{"x"}]>', "<@m, [{}]>", '<@m, [{}], replicated={"x"}>'
INNER = """%2 = sdy.manual_computation(%1) in_shardings=[<@m, [{Y}]>] out_shardings=[<@m, [{Y}]>]
      manual_axes={{Y}} (%3: INNER) {
    sdy.return %3 : INNER
  } : (LOCAL) -> LOCAL
  sdy.return %2 : LOCAL"""
BODIES = (
    (f"{X} / {X}", '"x"', "16xf32 2xf32"),
    (f"{X} / {X}", '"z"', "16xf32 2xf32"),
    (f"{X} / {X}", '"x", "x"', "16xf32 2xf32"),
    (f"{X} / {X}", '"x"', "12xf32 1xf32"),
    (f"{X} / {X}", "", "12xf32 12xf32"),
    (f'{X} / <@other, [{{"a"}}]>', '"x"', "16xf32 2xf32"),
    (f"{X} / {WHOLE}", '"x"', "16xf32 2xf32"),
    (f"{COPIES} / {COPIES}", '"x"', "16xf32 16xf32"),
    ('<@m, [{"x":(1)2}]> / <@m, [{"x":(1)2}]>', '"x"', "16xf32 8xf32"),
    (f"{WHOLE}, {WHOLE} / {WHOLE}", "", "16xf32 16xf32"),
    (f"{WHOLE} / ", "", "16xf32 16xf32"),
    ("<@m, [{}, {}]> / <@m, [{}]>", "", "16xf32 16xf32"),
    ('<@m, [{"y", "x"}]> / <@m, [{"y", "x"}]>', '"x"', "16xf32 2xf32"),
    ('<@m, [{"x", "y"}]> / <@m, [{"x", "y"}]>', '"x"', "16xf32 2xf32"),
)


@pytest.mark.parametrize(("shardings", "axes", "types"), BODIES)
def test_manual_computations(shardings: str, axes: str, types: str) -> None:
    assert_alike(manual(shardings, axes, types))


def test_blocks_are_of_one_size() -> None:
    """shardc's passes write blocks that end early; a program has none."""
    text = manual(f"{X} / {X}", '"x"', "12xf32 2xf32").replace("@f", "@main")
    assert refused_by_shardy(text) and not refused(text)
    with pytest.raises(ShardcError, match="dimension 0 of f32\\[12\\] is not divided by the manual axes"):
        shardc.compile(text)


@pytest.mark.parametrize(
    "body",
    [
        "%2 = stablehlo.add %0, %0 : WHOLE\n    sdy.return %1 : LOCAL",
        "sdy.return %1, %1 : LOCAL, LOCAL",
        "return %1 : LOCAL",
        INNER.replace("{Y}", '{"y"}').replace("INNER", "tensor<1xf32>"),
        INNER.replace("[{Y}]", "[{}]").replace("{Y}", '{"x"}').replace("INNER", "LOCAL"),
    ],
)
def test_bodies_of_manual_computations(body: str) -> None:
    assert_alike(manual(f"{X} / {X}", '"x"', "16xf32 2xf32", body))


@pytest.mark.parametrize(
    ("shardings", "inner", "body"),
    [
        *((f"in_shardings=[{X}] out_shardings=[{side}]", "16xf32", "") for side in (X, f"{X}, {X}", "")),
        ("in_shardings=[<@m, [{}, {}]>]", "16xf32", ""),
        ("", "8xf32", ""),
        ("", "16xf32", "%2 = stablehlo.add %0, %0 : tensor<16xf32>"),
    ],
)
def test_named_computations(shardings: str, inner: str, body: str) -> None:
    assert_alike(f"""{MESHES}func.func @f(%0: tensor<16xf32>) -> tensor<16xf32> {{
  %9 = sdy.named_computation<"g">(%0) {shardings} (%1: tensor<{inner}>) {{
    {body}
    sdy.return %1 : tensor<{inner}>
  }} : (tensor<16xf32>) -> tensor<16xf32>
  return %9 : tensor<16xf32>
}}""")
