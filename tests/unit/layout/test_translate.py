"""Axes of one mesh in those of another."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.layout import Axis, LayoutError, Mesh, size_of
from shardc.layout.translate import translate

POD = Mesh("pod", (("data", 2), ("model", 4)))
RING = Mesh("ring", (("r", 8),))


def test_one_axis_is_two() -> None:
    assert translate(RING.axis("r"), RING, POD) == (Axis("data", 2), Axis("model", 4))


def test_two_axes_are_parts_of_one() -> None:
    assert translate(POD.axis("data"), POD, RING) == (Axis("r", 2, 1),)
    assert translate(POD.axis("model"), POD, RING) == (Axis("r", 4, 2),)


def test_a_part_of_an_axis() -> None:
    assert translate(Axis("r", 4, 1), RING, POD) == (Axis("data", 2), Axis("model", 2, 1))
    assert translate(Axis("r", 2, 4), RING, POD) == (Axis("model", 2, 2),)


def test_axes_that_do_not_line_up() -> None:
    one, other = Mesh("one", (("a", 2), ("b", 3))), Mesh("other", (("p", 3), ("q", 2)))
    with pytest.raises(LayoutError, match="axis a of mesh one has no counterpart in mesh other"):
        translate(one.axis("a"), one, other)


@pytest.mark.parametrize(
    "other",
    [
        Mesh("other", (("r", 4),)),
        Mesh("other", (("r", 8),), (1, 0, 2, 3, 4, 5, 6, 7)),
        Mesh("other", (("r", 8),), processes=2),
    ],
)
def test_other_devices(other: Mesh) -> None:
    with pytest.raises(LayoutError, match="have other devices or another order"):
        translate(POD.axis("data"), POD, other)


@given(st.permutations([2, 2, 3]), st.integers(1, 2), st.permutations([2, 2, 3]), st.integers(1, 2))
def test_both_split_the_devices_alike(one: list[int], cut: int, two: list[int], other_cut: int) -> None:
    source, target = _mesh("source", "a", one, cut), _mesh("target", "p", two, other_cut)
    for name, _ in source.axes:
        axis = source.axis(name)
        try:
            parts = translate(axis, source, target)
        except LayoutError:
            continue
        place = {part: target.coordinates(part) for part in parts}
        for position in range(source.size):
            number = 0
            for part in parts:
                number = number * part.size + int(place[part][position])
            assert number == int(source.coordinates(axis)[position])


def _mesh(name: str, letter: str, factors: list[int], cut: int) -> Mesh:
    """A mesh of 12 devices with two axes."""
    sizes = [1, 1]
    for index, factor in enumerate(factors):
        sizes[index >= cut] *= factor
    return Mesh(name, tuple((f"{letter}{i}", size) for i, size in enumerate(sizes)))


def test_every_pair_of_factorings_of_eight() -> None:
    meshes = [_of(sizes) for sizes in ((8,), (2, 4), (4, 2), (2, 2, 2))]
    for source, target in product(meshes, meshes):
        for name, size in source.axes:
            parts = translate(source.axis(name), source, target)
            assert size == size_of(parts)


def _of(sizes: tuple[int, ...]) -> Mesh:
    return Mesh("m", tuple((f"a{i}", size) for i, size in enumerate(sizes)))
