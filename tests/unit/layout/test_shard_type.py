"""A sharding as a type of the language: the program that has it means the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding
from shardc.layout.compare import same_layout
from shardc.layout.notations import mindspore, sdy, shard
from shardc.layout.notations.mindspore_shard import strategy_layout

MESH = Mesh("pod", (("x", 2), ("y", 4)))
PARTS = (Axis("x", 2), Axis("y", 2), Axis("y", 2, 2))


@st.composite
def shardings(draw: st.DrawFn) -> Sharding:
    """Each part of an axis splits one of three dimensions, is partial, or holds copies."""
    dims: list[list[Axis]] = [[], [], []]
    partial: list[Axis] = []
    for part in draw(st.permutations(PARTS)):
        place = draw(st.integers(0, 4))
        if place < 3:
            dims[place].append(part)
        elif place == 3:
            partial.append(part)
    return Sharding(MESH, tuple(Dim(tuple(axes)) for axes in dims), (), tuple(partial)).check()


def meaning(sharding: Sharding, shape: tuple[int, ...]) -> Sharding:
    """What the language takes the type for."""
    text = f"{shard.write_mesh(sharding)}\n\ndef f(x: {shard.write(sharding, shape)}):\n    return x\n"
    found = re.search(r"%x: .*?\{sdy.sharding = (#sdy.sharding<.*?>)\}", print_module(read(text, "p.shard")))
    assert found is not None, text
    return sdy.read(found[1], sharding.mesh)


@settings(deadline=None)
@given(shardings())
def test_the_type_means_the_same(sharding: Sharding) -> None:
    assert same_layout(meaning(sharding, (8, 8, 8)), sharding)


def test_what_is_written() -> None:
    layout = mindspore.read('Layout((2, 4), ("axis_0", "axis_1"))(("axis_0", "axis_1"))', rank=2)
    assert shard.write(layout, (2, 4)) == "f32[2@axis_0, 4@axis_1]"
    assert shard.write_mesh(layout) == "mesh mesh[axis_0=2, axis_1=4]"
    partial = Sharding(MESH, (Dim(),), (), (Axis("y", 4),), "max")
    assert shard.write(partial, (8,), "bf16") == "bf16[8] partial(max: y) replicated"
    open_dims = Sharding(MESH, (Dim((Axis("x", 2),), True, 1), Dim(open=True)), (Axis("y", 4),))
    assert shard.write(open_dims, (8, 8)) == "f32[8@x?:p1, 8@?] replicated(y)"
    ordered = Mesh("pod", (("x", 4),), (0, 2, 1, 3), 2)
    assert shard.write_mesh(Sharding(ordered, ())) == "mesh pod[x=4] devices [0, 2, 1, 3] processes 2"


def test_axes_that_are_no_names_get_one() -> None:
    numbered = strategy_layout((2, 1, 2), 8).sharding()
    assert shard.write(numbered, (4, 4, 4)) == "f32[4@axis_3, 4@axis_2, 4@axis_1]"
    assert shard.write_mesh(numbered) == "mesh mesh[axis_3=2, axis_2=1, axis_1=2, repeated=2]"
    taken = Sharding(Mesh("m", (("1", 2), ("axis_1", 2))), (Dim((Axis("1", 2), Axis("axis_1", 2))),))
    assert shard.write(taken, (4,)) == "f32[4@(axis_1_, axis_1)]"


def test_devices_with_other_numbers_have_no_mesh() -> None:
    with pytest.raises(LayoutError, match="the language counts devices from 0 to 1"):
        shard.write_mesh(Sharding(Mesh("m", (("x", 2),), ranks=(4, 5)), ()))
    with pytest.raises(LayoutError, match="no mesh in the language"):
        shard.write_mesh(Sharding(Mesh("m", (), (0,)), ()))
