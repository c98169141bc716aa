"""collective_broadcast: its types, what it sends, and what devices hold after it."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.graph import Op, TensorType
from shardc.interpret.collectives import EXCHANGES, Place
from shardc.layout import Axis, Mesh
from shardc.ops import ShapeError, infer, rule_of, sent, spmd

NAME = spmd.collective_broadcast.name
MESH = Mesh("pod", (("x", 2), ("y", 3)))
BLOCK = TensorType((2,), "f32")


def test_everyone_in_a_group_has_the_block_of_its_root() -> None:
    blocks = [np.full(2, position, np.float32) for position in range(6)]
    op = Op(NAME, (BLOCK,), (BLOCK,), {"axes": (Axis("y", 3),), "root": 2})
    (results,) = EXCHANGES[NAME](op, [blocks], Place(MESH, tuple(range(6))))
    assert [int(block[0]) for block in results] == [2, 2, 2, 5, 5, 5]


@pytest.mark.parametrize("root", [-1, 3])
def test_the_root_is_a_position_of_the_group(root: int) -> None:
    with pytest.raises(ShapeError, match=f"has root {root}, which is none of the 3 positions"):
        infer(NAME, [BLOCK], {"axes": (Axis("y", 3),), "root": root})


def test_it_sends_what_an_all_reduce_sends() -> None:
    assert sent(NAME, 1000, 8) == sent(spmd.all_reduce.name, 1000, 8) == 1750


def test_partial_sums_pass() -> None:
    rule = rule_of(Op(NAME, (BLOCK,), (BLOCK,), {"axes": (Axis("y", 3),), "root": 0}))
    assert rule is not None
    assert rule.linear == (frozenset({0}),)
