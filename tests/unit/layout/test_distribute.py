"""Tensors as blocks, and from any layout to any other."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.layout import Dim, LayoutError, Mesh, Sharding
from shardc.layout.distribute import assemble, distribute, global_shape
from shardc.layout.notations import sbp
from shardc.layout.notations.ranks import array_of, mesh_of_array

X = np.array([[4.0, 6, 5, 20], [6, 8, 9, 0], [3, 7, 5, 0]])


def lay(text: str, *ranks: int) -> Sharding:
    return sbp.read(text, mesh_of_array(array_of(list(ranks))), 2)


def test_boxes_between_other_devices():
    held = distribute(X, lay("S(0)", 0, 2, 1), "balanced")
    assert list(held) == [0, 1, 2] and held[2].tolist() == [[6, 8, 9, 0]]
    moved = distribute(assemble(held, lay("S(0)", 0, 2, 1), "balanced"), lay("S(1)", 5, 3, 4), "balanced")
    assert moved[5].tolist() == X[:, :2].tolist() and moved[3].shape == (3, 1)


def test_partial_sums_are_kept_by_the_first():
    held = distribute(X, lay("P", 3, 1))
    assert np.array_equal(held[3], X) and not held[1].any()
    assert np.array_equal(assemble(held, lay("P", 3, 1)), X)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_partial_max_and_min(kind: str, dtype: str):
    mesh = Mesh("m", (("x", 2),))
    sharding = Sharding(mesh, (Dim(),), (), (mesh.axis("x"),), kind)
    tensor = np.array([1, 0], dtype)
    held = distribute(tensor, sharding)
    assert np.array_equal(assemble(held, sharding), tensor)
    best = {"max": np.maximum, "min": np.minimum}[kind]
    assert np.array_equal(assemble({0: tensor, 1: tensor[::-1]}, sharding), best(tensor, tensor[::-1]))


def test_copies_must_agree():
    held = {0: X, 1: X + 1}
    with pytest.raises(LayoutError, match="devices 0 and 1 should hold copies; their values differ"):
        assemble(held, lay("B", 0, 1))
    assert np.array_equal(assemble(held, lay("B", 0, 1), check_copies=False), X)
    with_nan = np.array([[np.nan]])
    assert np.isnan(assemble({0: with_nan, 1: with_nan}, lay("B", 0, 1))).all()


def test_blocks_that_are_of_no_tensor():
    with pytest.raises(LayoutError, match="dimension 0 of device 1's block has 1 elements; of 3 it holds 2"):
        assemble({1: X[:1], 2: X[1:]}, lay("S(0)", 1, 2), "balanced")
    with pytest.raises(LayoutError, match="device 2 gives no block"):
        assemble({1: X}, lay("S(0)", 1, 2))
    with pytest.raises(LayoutError, match="have other numbers"):
        assemble({1: X, 2: X[0]}, lay("S(0)", 1, 2))
    with pytest.raises(LayoutError, match="dimension 1 of device 2's block has 2"):
        assemble({1: X, 2: X[:, :2]}, lay("S(0)", 1, 2))


def test_the_shape_comes_from_the_blocks():
    assert global_shape({1: X[:2], 2: X[2:]}, lay("S(0)", 1, 2), "balanced") == (3, 4)
    assert global_shape({1: X[:0], 2: X[:0]}, lay("S(0)", 1, 2)) == (0, 4)


def test_one_device():
    sharding = Sharding(Mesh("m", (), (7,)), (Dim(), Dim()))
    assert list(distribute(X, sharding)) == [7]
    assert np.array_equal(assemble(distribute(X, sharding), sharding), X)
