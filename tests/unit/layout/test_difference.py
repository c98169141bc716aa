"""What changes between two layouts, and the layout of which both are slices."""

from __future__ import annotations

import pytest

from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding
from shardc.layout.difference import both_slice, displaced

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


def test_a_permute_sends_along_the_axes_on_which_blocks_stand_elsewhere():
    """Not along axes that keep their dimension and stride, whatever stands before them."""
    mesh = Mesh("m", (("x", 2), ("y", 4), ("z", 2)))
    x, y, z = mesh.several

    def layout(*dims):
        return Sharding(mesh, tuple(map(Dim, dims)))

    assert displaced(layout((x,), (y, z)), layout((x,), (z, y))) == {y: ((1, 2), (1, 1)), z: ((1, 1), (1, 4))}
    assert [*displaced(layout((x, z), ()), layout((z, x), ()))] == [x, z]
    assert [*displaced(layout((x,), (z,)), layout((z,), (x,)))] == [x, z]
    assert [*displaced(layout((x, y, z), ()), layout((y, x, z), ()))] == [x, y]
    high, low = Axis("y", 2), Axis("y", 2, 2)
    assert [*displaced(layout((y,), ()), layout((low, high), ()))] == [high, low]
    assert not displaced(layout((x,), (y,)), layout((x,), (y,)))
