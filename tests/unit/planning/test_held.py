"""Which atoms of a change of layout stay, and what part of the tensor a block of them is."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.planning.reshard.held import Held
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
