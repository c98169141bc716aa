"""Groups of mesh positions, and the axes along which they lie."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from shardc.layout import Axis, Mesh
from shardc.layout.groups import axes_of_pairs, axes_of_positions, axes_of_rows, position_over
from shardc.semantics.blocks import groups

MESHES = [
    Mesh("m", axes) for axes in ((("x", 2), ("y", 4)), (("a", 2), ("b", 6), ("c", 3)), (("o", 1), ("b", 8)))
]


def lists(mesh: Mesh) -> list[tuple[Axis, ...]]:
    """Every list of up to two axes and parts of axes, and some of three."""
    parts = [
        Axis(name, count, pre)
        for name, size in mesh.axes
        for pre in range(1, size)
        for count in range(2, size + 1)
        if size % (pre * count) == 0
    ]
    return [
        axes
        for length in (1, 2, 3)
        for axes in permutations(parts, length)
        if not any(a.overlaps(b) or not a.coexists(b) for a, b in combinations(axes, 2))
    ]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_the_axes_of_groups_are_found_again(mesh: Mesh) -> None:
    for axes in lists(mesh):
        rows = np.array(groups(mesh, axes))
        found = axes_of_rows(mesh, rows[::-1])
        assert found is not None and groups(mesh, found) == groups(mesh, axes)
        assert axes_of_positions(mesh, position_over(mesh, axes)) == found


WRONG = ([[0, 3], [1, 2]], [[1, 0], [3, 2]], [[0, 1], [1, 2]], [[0, 1, 3, 2]], [[0, 1], [2], [3]], [[0, 1]])


@pytest.mark.parametrize("rows", WRONG, ids=str)
def test_other_groups_lie_along_no_axes(rows: list[list[int]]) -> None:
    width = max(map(len, rows))
    padded = np.array([row + [-1] * (width - len(row)) for row in rows])
    assert axes_of_rows(Mesh("m", (("x", 2), ("y", 2))), padded) is None


def test_pairs_take_the_fewest_axes() -> None:
    mesh = MESHES[0]
    x, y = mesh.axis("x"), mesh.axis("y")
    assert axes_of_pairs(mesh, ((0, 1), (4, 5)), ("x", "y")) == ((y,), ((0, 1),))
    assert axes_of_pairs(mesh, ((0, 1),), ("x", "y")) == ((x, y), ((0, 1),))
    assert axes_of_pairs(mesh, ((0, 1),), ("y",)) is None
    assert axes_of_pairs(mesh, ((0, 4),), ("y",)) is None
    assert axes_of_pairs(mesh, tuple((i, i) for i in range(8)), ("x", "y")) == ((), ((0, 0),))
    assert axes_of_pairs(mesh, (), ("x", "y")) == ((), ())
