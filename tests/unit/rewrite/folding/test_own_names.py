"""Copies of a layer have the names of their own layer."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr, f32
from xdsl.dialects.test import TestOp as Op
from xdsl.ir import Block, BlockArgument

from shardc.compilation import emit
from shardc.dialects.locations import locate, location_of
from shardc.graph.marks import REASON
from shardc.graph.types import Location
from shardc.rewrite.folding.own_names import OwnNames
from shardc.rewrite.folding.places import Slot
from tests.unit.rewrite.folding.programs import LONG, step
from tests.unit.rewrite.folding.test_folding import stages

SLOT = (0, 0)


@pytest.mark.parametrize("layers", [11, 12, 20])  # of 11, line 8 is named beside the gradients of layer 8
def test_the_text_is_that_of_all_layers(layers: int) -> None:
    text = step(layers, layer=LONG)
    _, local, removed = stages(text, 20)
    assert removed[0] > 0
    assert emit(local, "jax") == emit(stages(text, 10**9)[1], "jax")


def names(*arguments: str) -> OwnNames:
    """Layer 1 is before the cut, 2 and 3 are missing, and 4 comes after it."""
    block = Block(arg_types=[f32] * len(arguments))
    for argument, name in zip(block.args, arguments, strict=True):
        locate(argument, Location("", 0, 0, name))
    given: dict[tuple[Slot, int], BlockArgument] = {
        (SLOT, layer): argument for layer, argument in enumerate(block.args, 1)
    }
    return OwnNames(given, 2, 4)


def named(name: str) -> Op:
    op = Op(result_types=[f32], attributes={REASON: StringAttr(f"{name} is whole")})
    op.results[0].name_hint = name
    locate(op, Location("", 0, 0, name))
    return op


@pytest.mark.parametrize(
    ("arguments", "before", "after", "third"),
    [
        (
            ("p['layer28']", "p['layer27']", "p['layer05']", "p['layer03']"),
            "d_layer28",
            "d_layer03",
            "d_layer05",
        ),
        (("w[1].up", "w[2].up", "w[12].up", "w[13].up"), "w_1_v1", "w_13_v13", "w_12_v12"),
        (("w[1].up", "w[2].up", "w[12].up", "w[13].up"), "x1", "x1", "x1"),  # of no layer
        (("w[1].up", "w[2].up", "w[12].up", "w[13].up"), "x1", "y13", "x1"),  # otherwise alike
        (("w1_1", "w2_2", "w3_3", "w4_4"), "h1", "h4", "h3"),
        (("w1_5", "w2_6", "w3_7", "w4_8"), "h1", "h4", "h3"),
        (("w1_5", "w2_6", "w3_7", "w4_8"), "h5x1", "h8x4", "h7x3"),
        (("w1_1", "w2_3", "w3_5", "w4_7"), "h1", "h4", "h1"),  # nobody knows which number it is
        (("a", "b", "c", "d"), "h1", "h4", "h1"),
    ],
)
def test_names(arguments: tuple[str, ...], before: str, after: str, third: str) -> None:
    copy = named(before)
    names(*arguments).name(copy, named(after), 3)
    assert copy.results[0].name_hint == third
    assert location_of(copy.location).name == third
    assert copy.attributes[REASON] == StringAttr(f"{third} is whole")
