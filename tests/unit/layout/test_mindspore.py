"""MindSpore's Layout, its strategies, and the derivation by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.layout import LayoutError, Mesh
from shardc.layout.notations import jax, mindspore
from shardc.layout.notations.mindspore import read_layout
from shardc.layout.notations.mindspore_layout import Layout
from shardc.layout.notations.mindspore_shard import (
    Side,
    matmul_layouts,
    strategy_layout,
    strategy_layouts,
)
from shardc.layout.notations.mindspore_steps import steps
from shardc.layout.slices import slices

FIVE = Layout((2, 1, 2, 2, 1), ("a", "b", "c", "d", "e"))
CUBE = Layout((2, 2, 2), ("dp", "sp", "mp"))


def test_the_three_steps_of_the_textbook():
    found = steps(FIVE("b", "d", "e", "c", "a"))
    assert found.numbering[:3].tolist() == [[0, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]]
    assert found.used == ("b", "d", "e", "c", "a")
    assert found.reordered[1].tolist() == [0, 1, 0, 0, 0]
    assert dict(zip(found.used, found.strides, strict=True)) == {"b": 8, "d": 4, "e": 4, "c": 2, "a": 1}
    assert found.by_rank().tolist() == [0, 4, 2, 6, 1, 5, 3, 7]


@pytest.mark.parametrize(
    ("layout", "numbers"),
    [
        (Layout((2, 4), ("axis_0", "axis_1"))("axis_0", "axis_1"), [0, 1, 2, 3, 4, 5, 6, 7]),
        (Layout((4, 1, 1, 2, 1), ("a", "b", "c", "d", "e"))("b", "d", "e", "a"), [0, 4, 1, 5, 2, 6, 3, 7]),
        (FIVE("b", "e", "c", "a"), [0, 0, 2, 2, 1, 1, 3, 3]),
        (strategy_layout((2, 1, 2, 2, 1), 8), [0, 1, 2, 3, 4, 5, 6, 7]),
        (strategy_layout((2, 1, 1, 2, 1), 8), [0, 0, 1, 1, 2, 2, 3, 3]),
        (strategy_layout((2, 1, 1, 2, 1), 8, "left"), [0, 1, 2, 3, 0, 1, 2, 3]),
        (CUBE("mp", ("sp", "dp")), [0, 4, 2, 6, 1, 5, 3, 7]),
        (Layout((2, 4), ("x", "y"), [7, 6, 5, 4, 3, 2, 1, 0])("x", "y"), [7, 6, 5, 4, 3, 2, 1, 0]),
    ],
)
def test_slice_numbers(layout: Layout, numbers: list[int]):
    assert steps(layout).by_rank().tolist() == numbers
    sharding = layout.sharding()
    counts = [dim.parts for dim in sharding.dims]
    held = slices(sharding, counts, "refuse")[..., 0]
    assert np.ravel_multi_index(tuple(held.T), counts).tolist() == numbers


def test_to_dict_and_back():
    layout = Layout((2, 2, 2), ("dp", "sp", "mp"))("dp", ("sp", "mp"), "None")
    assert layout.to_dict() == {
        "device_matrix": (2, 2, 2),
        "tensor_map": (2, (1, 0), -1),
        "interleaved_parallel": False,
        "alias_name": ("dp", "sp", "mp"),
        "rank_list": list(range(8)),
    }
    assert mindspore.read(str(layout.to_dict())) == layout.sharding()


def test_none_in_a_tuple_is_skipped():
    assert CUBE(("dp", "None"), "mp").sharding() == CUBE("dp", "mp").sharding()


def test_interleaved_parallel_is_no_device_axis():
    layout = Layout((2, 2, 2), ("dp", "sp", "interleaved_parallel"))
    assert layout.devices == 4
    assert str(layout(("dp", "interleaved_parallel"), "sp").sharding()) == "[dp, sp]"
    assert steps(layout(("dp", "interleaved_parallel"))).by_rank().tolist() == [0, 1, 0, 1, 2, 3, 2, 3]
    with pytest.raises(
        LayoutError, match="dimension 0 before dp does, so that each device holds 2 separate parts"
    ):
        layout(("interleaved_parallel", "dp")).sharding()
    assert layout("sp").to_dict()["interleaved_parallel"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2, 4], ("x", "y")), "device_matrix must be tuple type"),
        (((2, 4), ["x", "y"]), "alias_name must be tuple type"),
        (((2, 4), ("x",)), "device_matrix length should be equal to alias_name length"),
        (((), ()), "device_matrix is empty"),
        (((2, 0), ("x", "y")), "element of device_matrix must be a positive int, not 0"),
        (((2, "4"), ("x", "y")), "element of device_matrix must be a positive int, not '4'"),
        (((2, 4), ("x", 1)), "element of alias_name must be str type"),
        (((2, 4), ("x", "")), "element of alias_name can not be empty"),
        (((2, 4), ("x", "None")), "can not set 'None'"),
        (((2, 4), ("x", "x")), "should be different"),
        (((2, 4), ("interleaved_parallel", "x")), "should be the last of alias_name"),
        (((2, 4), ("x", "y"), (0, 1)), "rank_list should be a list"),
        (((2, 4), ("x", "y"), [0, 1]), "length of rank_list should be equal to the product of device_matrix"),
        (((2,), ("x",), [0, 0]), "elements of rank_list should be different"),
        (((2,), ("x",), [0, -1]), "should be a device number, not -1"),
        (((10**9, 10**9), ("x", "y"), [0]), "mesh of 1000000000000000000 devices"),
    ],
)
def test_constructor_errors(arguments: tuple[Any, ...], message: str):
    with pytest.raises(LayoutError, match=message):
        Layout(*arguments)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (("x",), "'x' of dimension 0 is not in alias_name"),
        (("dp", "dp"), "'dp' of dimension 1 is used twice"),
        ((("dp", "sp"), "sp"), "'sp' of dimension 1 is used twice"),
        ((1,), "entry 0 of the tensor map must be an alias or a tuple of them, not 1"),
    ],
)
def test_tensor_map_errors(entries: tuple[Any, ...], message: str):
    with pytest.raises(LayoutError, match=message):
        CUBE(*entries)


def test_ranks_as_code_lists_them():
    text = 'devices = list(range({}))  # of stage 1\nLayout((2, 2), ("x", "y"), devices)("x")  # rows'
    assert read_layout(text.format("4, 8")).ranks == [4, 5, 6, 7]
    assert read_layout(text.format("3, -1, -1")).ranks == [3, 2, 1, 0]
    for bounds, message in {
        "5": "equal to the product of device_matrix: 4, not 5",
        "n": r"list\(range\(n\)\) is no list of ranks",
        "0, 8, 0": "is no list of ranks",
        "1 << 40": "cannot read",
        "99999999999": "at most",
        "9" * 30: "at most",
    }.items():
        with pytest.raises(LayoutError, match=message):
            read_layout(text.format(bounds))
    with pytest.raises(LayoutError, match=r"should be a list, not range\(4\)$"):
        read_layout('Layout((2, 2), ("x", "y"), range(4))("x")')


def test_without_a_tensor_map():
    for use in (CUBE.to_dict, CUBE.sharding, lambda: steps(CUBE)):
        with pytest.raises(LayoutError, match="tensor_map of layout is None"):
            use()


def test_ranks_of_a_pipeline_stage():
    sharding = Layout((2, 2), ("x", "y"), [4, 6, 5, 7])("x").sharding()
    assert sharding.mesh.ranks == (4, 5, 6, 7)
    assert slices(sharding, (2,))[:, 0, 0].tolist() == [0, 1, 0, 1]
    assert mindspore.write(sharding) == 'Layout((2, 2), ("x", "y"), rank_list=[4, 6, 5, 7])("x")'
    with pytest.raises(LayoutError, match="JAX counts devices from 0 to 3"):
        jax.write_mesh(sharding)


def test_matmul_on_more_devices_than_its_strategy_uses():
    """The question of mindspore#332."""
    found = matmul_layouts((2, 2), (2, 1), 8)
    assert found.x.device_matrix == (2, 2, 1, 2)
    maps = [layout.to_dict()["tensor_map"] for layout in (found.x, found.w, found.out)]
    assert maps == [(3, 2), (2, 1), (3, 1)]
    assert found.allreduce_groups == ((0, 2), (1, 3), (4, 6), (5, 7))
    assert matmul_layouts((4, 1), (1, 2), 8).allreduce_groups == ()


def test_strategies_of_several_inputs():
    x, bias = strategy_layouts([(2, 4), (4,)], 8)
    assert (x.tensor_map, bias.tensor_map) == (("1", "0"), ("0",))
    _, row = strategy_layouts([(2, 4), (1, 4)], 8)
    assert row.tensor_map == ("None", "0")


def test_strategy_errors():
    with pytest.raises(LayoutError, match="device number 8 can not be divided by the strategy's 3"):
        strategy_layout((3,), 8)
    with pytest.raises(LayoutError, match="dimension 1 is cut into 2 parts by one input and 4 by another"):
        strategy_layouts([(2, 4), (2, 2)], 8)
    with pytest.raises(LayoutError, match="cut into 2 parts by x and 4 by w"):
        matmul_layouts((2, 2), (4, 1), 8)
    with pytest.raises(LayoutError, match="cannot be cut into 0 parts"):
        strategy_layout((0, 2), 8)


def test_what_cannot_be_written():
    mesh = Mesh("mesh", (("x", 2), ("y", 4)))
    with pytest.raises(LayoutError, match="MindSpore has no such uneven blocks: dimension 0 of"):
        mindspore.write(jax.read("P('y')", mesh), (6,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Layout((2, 4))", "Layout needs alias_name"),
        ("Layout((2,), ('x',), ranks=[0])('x')", "Layout takes no ranks"),
        ("Shape((2,), ('x',))('x')", "expected Layout"),
        ("Layout((2,), ('x',))(1)", "1 in the tensor map is no place among 1 axes"),
        ("{'device_matrix': (2,), 'alias_name': ('x',)}", "needs tensor_map"),
        (
            "{'device_matrix': (2,), 'alias_name': ('x',), 'tensor_map': (1,)}",
            "1 in the tensor map is no place",
        ),
        ("Layout((2,", "found the end"),
    ],
)
def test_unreadable_text(text: str, message: str):
    with pytest.raises(LayoutError, match=message):
        mindspore.read(text)


def test_one_tuple_is_the_whole_map_if_it_fits_the_tensor():
    """The derivation's text calls layout(tensor_map); MindSpore takes one tuple for one dimension."""
    code = """
    # 设备矩阵,假设一共有8张卡
    device_matrix = (2, 4)
    alias_name = ("axis_0", "axis_1")
    tensor_map = ("axis_0", "axis_1")
    layout = Layout(device_matrix, alias_name)
    shard_strategy = layout(tensor_map)
    """
    assert read_layout(code, 2).tensor_map == ("axis_0", "axis_1")
    assert read_layout(code, 1).tensor_map == (("axis_0", "axis_1"),)
    assert read_layout(code).tensor_map == (("axis_0", "axis_1"),)
    with pytest.raises(LayoutError, match=r"1 entries, the tensor 3 dimensions; .* unpack it"):
        mindspore.read(code, rank=3)


def test_code_as_it_stands():
    code = """
    layout = Layout((2, 1, 2, 2, 1), ("a", "b", "c", "d", "e"))
    in_strategy = (layout("b", "d", "e", "c", "a"),)
    """
    found = read_layout(code)
    assert found.to_dict()["tensor_map"] == (3, 1, 0, 2, 4)
    used = code.replace("in_strategy = (", "relu = ops.ReLU().shard((") + ")"
    assert read_layout(used) == found
    typed = ">>> " + code.strip().replace("\n", "\n...\n>>> ", 1)
    assert typed.count(">>>") == 2 and read_layout(typed) == found
    numbers = read_layout('Layout((2, 1, 2, 2, 1), ("a", "b", "c", "d", "e"))(3, 1, 0, (2, -1), 4)')
    assert numbers.to_dict()["tensor_map"] == (3, 1, 0, (2, -1), 4)
    assert numbers.tensor_map == ("b", "d", "e", ("c", "None"), "a")


@pytest.mark.parametrize("side", ["right", "left"])
def test_aliases_of_a_strategy_are_the_numbers_of_its_map(side: Side):
    found = strategy_layout((2, 1, 1, 2, 1), 8, side)
    assert [int(alias) for alias in found.tensor_map or ()] == list(found.to_dict()["tensor_map"])  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]
    product = matmul_layouts((2, 2), (2, 1), 8, side)
    for layout in (product.x, product.w, product.out):
        assert tuple(int(str(alias)) for alias in layout.tensor_map or ()) == layout.to_dict()["tensor_map"]


def test_the_layouts_of_several_operands_are_given_one_by_one():
    layouts = 'layout = Layout((2, 4), ("a", "b"))\nin_strategy = (layout("a", "b"), layout("b", "None"))'
    with pytest.raises(LayoutError, match="the strategy has the layouts of 2 operands; give it with one"):
        mindspore.read(layouts)
