"""OneFlow's expand and repeat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.layout import LayoutError
from shardc.layout.distribute import distribute
from shardc.layout.expand import (
    LocalExpand,
    expand_strides,
    expanded_shape,
    expanded_sharding,
    local_expand,
    repeat_as_expand,
    strides,
)
from shardc.layout.notations import sbp
from shardc.layout.notations.ranks import array_of, mesh_of_array

TWO = mesh_of_array(array_of([0, 1]))


def expand(data: np.ndarray, stride: tuple[int, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """As a kernel does: each element is at the sum of position times stride."""
    index = sum((p * s for p, s in zip(np.indices(sizes), stride, strict=True)), np.zeros(sizes, int))
    return np.ascontiguousarray(data).reshape(-1)[index]


@pytest.mark.parametrize(
    ("shape", "sizes", "out", "stride"),
    [
        ((4, 3, 1, 2), (2, 4, 3, 4, 2), (2, 4, 3, 4, 2), (0, 6, 2, 0, 1)),
        ((1, 3, 1, 2), (1, 3, 2, 2), (1, 3, 2, 2), (6, 2, 0, 1)),
        ((2, 1, 3), (2, 1, -1, -1, -1), (2, 1, 2, 1, 3), (0, 0, 3, 3, 1)),
        ((), (2,), (2,), (0,)),
    ],
)
def test_expand(
    shape: tuple[int, ...], sizes: tuple[int, ...], out: tuple[int, ...], stride: tuple[int, ...]
):
    assert expanded_shape(shape, sizes) == out
    assert expand_strides(shape, sizes) == stride
    data = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    assert np.array_equal(expand(data, stride, out), np.broadcast_to(data, out))


@pytest.mark.parametrize(
    ("shape", "sizes", "message"),
    [
        ((2, 3), (3,), "number of sizes provided .1. must be greater or equal"),
        ((2, 3), (-1, 2, 3), "-1 is not allowed in dimension 0, which is new"),
        ((2, 3), (4, 3), "expanded size .4. must match the existing size .2. at dimension 0"),
        ((1,), (-2,), "negative size -2"),
    ],
)
def test_expand_errors(shape: tuple[int, ...], sizes: tuple[int, ...], message: str):
    with pytest.raises(LayoutError, match=message):
        expanded_shape(shape, sizes)


def test_a_device_expands_to_its_own_sizes():
    """The example of the article: with the logical sizes the last dimension would be twice too long."""
    sharding = sbp.read("S(3)", TWO, 4)
    assert local_expand(sharding, (4, 3, 1, 2), (2, 4, 3, 4, 2), 0) == LocalExpand(
        (4, 3, 1, 1), (3, 1, 1, 1), (2, 4, 3, 4, 1), (0, 3, 1, 0, 1)
    )
    assert sbp.write(expanded_sharding(sharding, (4, 3, 1, 2), (2, 4, 3, 4, 2))) == "(S(4),)"


@pytest.mark.parametrize("text", ["S(0)", "S(1)", "S(3)", "B"])
def test_blocks_expand_to_blocks(text: str):
    shape, sizes = (5, 3, 1, 2), (2, 5, 3, 4, 2)
    data = np.arange(30).reshape(shape)
    sharding = sbp.read(text, TWO, 4)
    held = distribute(data, sharding, "balanced")
    wanted = distribute(np.broadcast_to(data, sizes), expanded_sharding(sharding, shape, sizes), "balanced")
    for device in (0, 1):
        mine = local_expand(sharding, shape, sizes, device)
        assert np.array_equal(expand(held[device], mine.output_stride, mine.sizes), wanted[device])


def test_a_copied_dimension_is_not_split():
    with pytest.raises(LayoutError, match="dimension 2 is split and cannot be expanded from 1 to 4"):
        expanded_sharding(sbp.read("S(2)", TWO, 4), (4, 3, 1, 2), (2, 4, 3, 4, 2))


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=3),
    st.lists(st.integers(1, 3), max_size=2),
)
def test_repeat_is_an_expand(dims: list[tuple[int, int]], new: list[int]):
    shape, repeats = tuple(n for n, _ in dims), (*new, *(r for _, r in dims))
    data = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    steps = repeat_as_expand(shape, repeats)
    apart = data.reshape(steps.reshape_in)
    expanded = expand(apart, expand_strides(apart.shape, steps.expand_size), steps.expand_size)
    assert np.array_equal(expanded.reshape(steps.reshape_out), np.tile(data, repeats))


def test_repeat_of_the_article():
    steps = repeat_as_expand((5, 3, 6, 9), (2, 1, 1, 2, 2))
    assert steps.reshape_in == (5, 3, 1, 6, 1, 9)
    assert steps.expand_size == (2, 5, 3, 2, 6, 2, 9)
    assert steps.reshape_out == (2, 5, 3, 12, 18)
    assert repeat_as_expand((3, 1), (1, 0)).reshape_out == (3, 0)


def test_repeat_errors():
    with pytest.raises(LayoutError, match="can not be smaller than number of dimensions"):
        repeat_as_expand((2, 3), (2,))
    with pytest.raises(LayoutError, match="dimension 0 cannot be repeated -1 times"):
        repeat_as_expand((2,), (-1,))


def test_strides():
    assert strides((4, 3, 1, 2)) == (6, 2, 2, 1)
