"""Policies for dimensions that don't divide."""

from __future__ import annotations

import pytest

from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding
from shardc.layout.slices import local_shapes, slices
from shardc.layout.uneven import Policy, balanced_split

FLAT = Mesh("m", (("x", 4),))
GRID = Mesh("m", (("a", 2), ("b", 2)))
OVER_4 = Sharding(FLAT, (Dim((FLAT.axis("x"),)),))
OVER_2_BY_2 = Sharding(GRID, (Dim((GRID.axis("a"), GRID.axis("b"))),))
SUB_AXES = Sharding(FLAT, (Dim((Axis("x", 2), Axis("x", 2, 2))),))


def sizes(sharding: Sharding, size: int, policy: Policy) -> list[int]:
    return local_shapes(sharding, (size,), policy)[:, 0].tolist()


@pytest.mark.parametrize(
    ("policy", "over_4", "over_2_by_2"),
    [
        ("ceil", [2, 2, 2, 0], [2, 2, 2, 0]),
        ("balanced", [2, 2, 1, 1], [2, 1, 2, 1]),
        ("chunked", [2, 2, 2, 0], [2, 1, 2, 1]),
    ],
)
def test_six_elements(policy: Policy, over_4: list[int], over_2_by_2: list[int]):
    assert sizes(OVER_4, 6, policy) == over_4
    assert sizes(OVER_2_BY_2, 6, policy) == over_2_by_2


def test_consecutive_parts_of_an_axis_are_one_axis():
    assert sizes(SUB_AXES, 6, "balanced") == sizes(OVER_4, 6, "balanced")


def test_refusal_names_the_dimension():
    with pytest.raises(LayoutError) as error:
        slices(OVER_4, (6,), "refuse")
    assert str(error.value) == "dimension 0 of (6,): 6 elements are not divisible into 4 blocks"


def test_unknown_policies_and_negative_sizes():
    with pytest.raises(LayoutError, match="there is no policy even; the policies are"):
        slices(OVER_4, (6,), "even")  # pyright: ignore[reportArgumentType]
    with pytest.raises(LayoutError, match=r"dimension 0 of \(-4,\) has a negative size"):
        slices(OVER_4, (-4,))


@pytest.mark.parametrize(
    ("size", "parts", "ranges"),
    [
        (20, 6, [(0, 4), (4, 8), (8, 11), (11, 14), (14, 17), (17, 20)]),
        (13, 4, [(0, 4), (4, 7), (7, 10), (10, 13)]),
        (2, 3, [(0, 1), (1, 2), (2, 2)]),
        (0, 2, [(0, 0), (0, 0)]),
    ],
)
def test_balanced_split(size: int, parts: int, ranges: list[tuple[int, int]]):
    assert balanced_split(size, parts) == ranges


def test_no_parts():
    with pytest.raises(LayoutError, match="cannot be split into 0 parts"):
        balanced_split(4, 0)


def test_many_devices():
    mesh = Mesh("m", (("a", 256), ("b", 256)))
    layout = Sharding(mesh, (Dim((mesh.axis("b"), mesh.axis("a"))),))
    for policy in ("ceil", "balanced", "chunked"):
        assert local_shapes(layout, (10**18 + 7,), policy).sum() == 10**18 + 7
