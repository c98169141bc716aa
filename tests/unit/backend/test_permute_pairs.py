"""A permute's pairs as they are written: one by one, as a shift, or as digits at other places."""

from __future__ import annotations

import random

import numpy as np
import pytest

from shardc.backend.python.collectives import permutation


def written(targets: list[int], size: int) -> str:
    return permutation(tuple(enumerate(targets)), size).text


def read(text: str) -> list[tuple[int, int]]:
    """The pairs that a text of ours stands for."""
    return eval(text, {"range": range, "__builtins__": {}})


@pytest.mark.parametrize(
    ("shape", "order", "text"),
    [
        ((128, 128), (1, 0), "[(i, i // 128 + i % 128 * 128) for i in range(16384)]"),
        ((16, 128, 8), (1, 0, 2), "[(i, i // 1024 * 8 + i // 8 % 128 * 128 + i % 8) for i in range(16384)]"),
        (
            (2, 3, 4, 5),
            (3, 1, 0, 2),
            "[(i, i // 60 * 4 + i // 20 % 3 * 8 + i // 5 % 4 + i % 5 * 24) for i in range(120)]",
        ),
    ],
    ids=str,
)
def test_axes_that_change_places(shape: tuple[int, ...], order: tuple[int, ...], text: str):
    size = int(np.prod(shape))
    targets = np.argsort(np.arange(size).reshape(shape).transpose(order).ravel()).tolist()
    assert written(targets, size) == text
    assert read(text) == [*enumerate(targets)]


def test_any_order_of_any_axes_is_what_is_written():
    draw = random.Random(0)
    for _ in range(60):
        shape = [draw.choice([2, 2, 3, 4, 5]) for _ in range(draw.randint(2, 5))]
        order = draw.sample(range(len(shape)), len(shape))
        size = int(np.prod(shape))
        targets = np.argsort(np.arange(size).reshape(shape).transpose(order).ravel()).tolist()
        text = written(targets, size)
        assert read(text) == [*enumerate(targets)]
        assert size <= 32 or len(text) < 160


def test_other_pairs_are_written_one_by_one():
    draw = random.Random(1)
    for size in (5, 33, 48, 64):
        targets = draw.sample(range(size), size)
        assert read(written(targets, size)) == [*enumerate(targets)]
    swapped = [1, 0, *range(2, 64)]
    assert written(swapped, 64).startswith("[(0, 1), (1, 0), (2, 2), ")
    assert permutation(((0, 1), (5, 2)), 64).text == "[(0, 1), (5, 2)]"
    assert permutation((), 64).text == "[]"
    assert written([*range(1, 64), 0], 64) == "[(i, (i + 1) % 64) for i in range(64)]"
