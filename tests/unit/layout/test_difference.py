"""The layout of which two layouts are slices."""

from __future__ import annotations

import pytest

from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding
from shardc.layout.difference import both_slice

MESH = Mesh("m", (("x", 4), ("y", 2)))


def on(*dims: str, partial: str = "", kind: str = "sum") -> Sharding:
    """A sharding from letters: on("xy", "") is [(x, y), -]."""
    axes = [tuple(map(MESH.axis, letters)) for letters in dims]
    return Sharding(MESH, tuple(map(Dim, axes)), unreduced=tuple(map(MESH.axis, partial)), kind=kind)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (on("xy", ""), on("x", "y"), on("x", "")),
        (on("xy", ""), on("y", "x"), on("", "")),
        (on("x", "", partial="y"), on("", "x", partial="y"), on("", "", partial="y")),
        (on("x", "", partial="y"), on("x", "y"), on("x", "")),
        (on("", "", partial="y"), on("", "", partial="y", kind="max"), on("", "")),
    ],
    ids=str,
)
def test_axes_that_both_have_first(one: Sharding, other: Sharding, both: Sharding):
    assert both_slice(one, other) == both_slice(other, one) == both


def test_parts_of_axes():
    major, minor = Axis("x", 2, 1), Axis("x", 2, 2)
    whole, part = on("x", ""), Sharding(MESH, (Dim((major,)), Dim((minor,))))
    assert both_slice(whole, part) == Sharding(MESH, (Dim((major,)), Dim()))


def test_parts_without_a_common_refinement():
    mesh = Mesh("m", (("x", 6),))
    two, three = (Sharding(mesh, (Dim((Axis("x", size, 1),)),)) for size in (2, 3))
    with pytest.raises(LayoutError, match="no common refinement"):
        both_slice(two, three)
