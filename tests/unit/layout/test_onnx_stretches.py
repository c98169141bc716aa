"""The stretches of a shard's elements, against the elements."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.layout import LayoutError
from shardc.layout.notations.onnx_placement import MOST, Part, Stretch


@st.composite
def stretches(draw):
    size = draw(st.integers(0, 5))
    start = draw(st.integers(0, size))
    return Stretch(size, start, draw(st.integers(start, size)))


@given(st.lists(stretches(), min_size=1, max_size=4))
def test_they_are_the_runs_of_the_elements(axis):
    (elements,), (ranges,) = Part((tuple(axis),)).indices(), Part((tuple(axis),)).ranges()
    assert [element for start, stop in ranges for element in range(start, stop)] == elements.tolist()
    breaks = np.flatnonzero(np.diff(elements) != 1)
    assert len(ranges) == (len(breaks) + 1 if prod(s.stop - s.start for s in axis) else 0)


def test_of_a_long_axis():
    whole, half = Stretch(1 << 40, 0, 1 << 40), Stretch(2, 0, 1)
    assert Part(((half, whole),)).ranges() == (((0, 1 << 40),),)
    with pytest.raises(LayoutError, match=f"more than {MOST} separate stretches of axis 0"):
        Part(((whole, half),)).ranges()
