"""Lists of axes, projection to factors and back."""

from __future__ import annotations

import pytest

from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.ops.rule import Factor, FactorRule
from shardc.propagation.lists import common, dividing_part, extends, shorten, starts
from shardc.propagation.projection import project, unproject

MESH = Mesh("m", (("x", 4), ("y", 2), ("z", 3)))
X, Y, Z = (MESH.axis(name) for name in "xyz")
X1, X2 = Axis("x", 2), Axis("x", 2, 2)


def sharding(*dims: tuple[Axis, ...], open: bool = True) -> Sharding:
    return Sharding(MESH, tuple(Dim(axes, open) for axes in dims))


def test_a_part_begins_its_axis() -> None:
    assert starts((X1,), (X,)) and extends((X,), (X1,))
    assert starts((X,), (X,)) and not extends((X,), (X,))
    assert starts((), (Y,)) and not starts((X2,), (X,)) and not starts((X, Y), (X,))


@pytest.mark.parametrize(
    ("old", "new", "grow", "expected"),
    [
        ((X,), (X, Y), True, ((X, Y), True)),
        ((X,), (X, Y), False, ((X,), False)),
        ((X, Y), (X,), False, ((X, Y), False)),
        ((X, Y), (X, Z), True, ((X,), False)),
        ((X1,), (X,), True, ((X,), True)),
        ((X1,), (X,), False, ((X1,), False)),
        ((X1, Y), (X, Y), True, ((X1,), False)),
        ((X,), (X1, Y), True, ((X1,), False)),
        ((X,), (X1,), True, ((X,), True)),
        ((X1,), (X2,), True, ((), False)),
    ],
)
def test_common(old: object, new: object, grow: bool, expected: object) -> None:
    assert common(old, new, grow) == expected  # type: ignore[arg-type]


def test_shorten_keeps_a_part_of_the_last_axis() -> None:
    assert shorten((Y, X, Z), lambda axis, before: X1 if axis == X else axis, None) == (Y, X1)
    assert shorten((Y, X, Z), lambda axis, before: X1 if axis == X else axis, MESH) == (Y,)
    sizes: list[int] = []
    shorten((Y, X, Z), lambda axis, before: sizes.append(before) or axis, None)
    assert sizes == [1, 2, 8]


def test_dividing_part() -> None:
    assert dividing_part(X, 6) == X1 and dividing_part(X, 8) == X and dividing_part(Z, 8) is None


SPLIT = FactorRule((Factor(2), Factor(6)), (((0, 1),),), (((0,), (1,)),))  # 12 -> 2x6


@pytest.mark.parametrize(
    ("axes", "major", "minor", "overflow"),
    [
        ((X,), (X1,), (X2,), ()),
        ((Y, Z), (Y,), (Z,), ()),
        ((X1, Z), (X1,), (Z,), ()),
        ((Z, Y), (), (), (Z, Y)),
        ((), (), (), ()),
    ],
)
def test_axes_are_handed_out_from_the_major_factor(axes, major, minor, overflow) -> None:  # type: ignore[no-untyped-def]
    projection = project(SPLIT, [sharding(axes), None])
    (tensor,) = projection.operands
    assert (tensor.factors[0].axes, tensor.factors[1].axes) == (major, minor)
    assert tensor.factors[0].overflow == overflow
    assert tensor.factors[1].closed == bool(overflow)
    if not overflow:
        assert unproject(tensor, SPLIT.operands[0], (2, 6), MESH, "sum") == sharding(axes)


def test_a_dimension_ends_at_a_factor_that_is_not_split_completely() -> None:
    tensor = project(FactorRule((Factor(4), Factor(3)), (((0, 1),),), ()), [sharding(())]).operands[0]
    tensor.factors[0].axes, tensor.factors[1].axes = (Y,), (Z,)
    assert unproject(tensor, ((0, 1),), (4, 3), MESH, "sum").dims[0].axes == (Y,)
    tensor.factors[0].axes = (X,)
    assert unproject(tensor, ((0, 1),), (4, 3), MESH, "sum").dims[0].axes == (X, Z)
