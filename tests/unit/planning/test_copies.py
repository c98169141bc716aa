"""How the copies of a value are made from each other: the cheapest tree, with stops on the way."""

from __future__ import annotations

from itertools import combinations, permutations, product

import pytest

from shardc.analysis.manual import NO_AXES
from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.reshard.copies import copies, price
from shardc.planning.reshard.planner import preferred_plan

MESH = Mesh("m", (("x", 2), ("y", 2)))
TYPE = TensorType((4, 4), "f32")


def on(*dims: str, partial: str = "") -> Sharding:
    """A sharding from letters: on("xy", "") is [(x, y), -]."""
    axes = [tuple(map(MESH.axis, letters)) for letters in dims]
    return Sharding(MESH, tuple(map(Dim, axes)), unreduced=tuple(map(MESH.axis, partial)))


LAYOUTS = [
    on(first, second)
    for axes in ("", "x", "y", "xy")
    for order in permutations(axes)
    for cut in range(len(axes) + 1)
    for first, second in [("".join(order[:cut]), "".join(order[cut:]))]
]
"""All layouts of a matrix on the mesh that are not partial."""


def test_what_two_needs_slice_differently_is_gathered_once():
    needs = [on("", "xy"), on("y", "")]
    made = [
        (source, target, plan.cost.bytes) for source, target, plan in copies(TYPE, on("x", ""), (*needs,))
    ]
    assert made == [(on("x", ""), on("", ""), 32), *((on("", ""), need, 0) for need in needs)]


def test_a_partial_sum_is_split_once_and_goes_on_from_there():
    needs = [on("y", "x"), on("", "yx")]
    made = [(source, target) for source, target, _ in copies(TYPE, on("x", "", partial="y"), (*needs,))]
    stop = on("x", "y")
    assert made == [(on("x", "", partial="y"), stop), *((stop, need) for need in needs)]


@pytest.mark.parametrize("given", [*LAYOUTS, on("", "", partial="xy")], ids=str)
def test_no_tree_with_any_one_stop_sends_less(given: Sharding):
    """The oracle: both needs from any layouts among the given one, each other and any one stop."""
    sent = {
        pair: preferred_plan(TYPE, *pair, NO_AXES).cost.bytes
        for pair in product({given, *LAYOUTS}, LAYOUTS)
        if pair[0] != pair[1]
    }
    others = [layout for layout in LAYOUTS if layout != given]
    for first, second in combinations(others, 2):
        trees = [
            sent[given, first] + min(sent[given, second], sent[first, second]),
            sent[given, second] + sent[second, first],
        ]
        for stop in others:
            if stop not in (first, second):
                trees.append(sent[given, stop] + sent[stop, first] + sent[stop, second])
        assert price(TYPE, given, (first, second), NO_AXES)[0] == min(trees), (str(first), str(second))
