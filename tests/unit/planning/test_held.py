"""Which atoms of a change of layout stay, and what part of the tensor a block of them is."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.planning.reshard.held import FOLLOW, Held, runs
from shardc.planning.reshard.space import AtomLayout


@pytest.mark.parametrize(
    ("source", "target", "moved", "share"),
    [
        (((0, 1), ()), ((0,), (1,)), {1}, 1 / 2),
        (((0, 1), ()), ((1,), (0,)), {0, 1}, 1),
        (((0, 1), (2,)), ((0, 1), ()), {2}, 1 / 6),
        (((0, 1), (2,)), ((0, 1), (2,)), set(), 1 / 30),
        (((1, 0), (2,)), ((0, 1), (2,)), {0, 1}, 1 / 5),
        (((), ()), ((0,), ()), {0}, 1),
    ],
)
def test_the_first_of_a_dimension_stay(source, target, moved: set[int], share: float) -> None:
    held = Held([AtomLayout(source)], [AtomLayout(target)], (2, 3, 5))
    found = held.among(np.array([0]), np.array([0]))
    assert {atom for atom in range(3) if found.atoms[0] >> atom & 1} == moved
    assert 1 / found.parts[:, 0].prod() == pytest.approx(share)


def test_what_is_partial_all_along_stays() -> None:
    source, target = AtomLayout(((), ()), (0, 1)), AtomLayout(((0,), ()), (1,))
    found = Held([source], [target], (2, 3)).among(np.array([0]), np.array([0]))
    assert (found.atoms[0], found.parts[:, 0].tolist()) == (1, [1, 1])


@pytest.mark.parametrize(
    ("source", "target", "together"),
    [
        ((((0, 1), (2,)), ()), (((2,), (0, 1)), ()), [(0, 1), (2,)]),
        ((((0, 1), (2,)), ()), (((2,), (1, 0)), ()), [(0,), (1,), (2,)]),
        ((((1, 0), (2,)), ()), ((((2,)), ()), (0, 1)), [(1, 0), (2,)]),
        ((((2, 1), ()), (0,)), (((), (2, 1)), ()), [(0,), (2, 1)]),
        ((((0, 1, 2), ()), ()), (((), ()), (0, 1, 2)), [(0, 1, 2)]),
    ],
)
def test_axes_that_follow_each_other_before_and_after_go_together(source, target, together) -> None:
    found = Held([AtomLayout(*source)], [AtomLayout(*target)], (2, 3, 5)).among(np.array([0]), np.array([0]))
    assert found.atoms[0] == 0b111
    assert runs([0, 1, 2], int(found.together[0])) == together


def test_axes_of_neither_layout_are_idle() -> None:
    held = Held([AtomLayout(((0,), ()))], [AtomLayout(((), (0,)))], (2, 3, 5))
    found = held.among(np.array([0]), np.array([0]))
    assert (found.atoms[0], found.idle[0], found.dims[0]) == (0b001, 0b110, 0b11)
    every = held.every(np.array([0]), np.array([0]))
    assert (every.atoms[0], every.idle[0], every.dims[0]) == (0b111, 0, 0b11)


def test_more_axes_than_bits_are_no_runs() -> None:
    """What nobody can say of axes is not taken to be so."""
    count = FOLLOW + 2
    layout, other = AtomLayout((tuple(range(count)), ())), AtomLayout(((), tuple(range(count))))
    found = Held([layout], [other], (2,) * count).among(np.array([0]), np.array([0]))
    assert runs([*range(count)], int(found.together[0])) == [tuple(range(FOLLOW)), (FOLLOW,), (FOLLOW + 1,)]
