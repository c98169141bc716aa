"""Plans attain the lower bounds of single products and the formulas of known schemes: bench/bounds.py."""

from __future__ import annotations

import pytest

from bench import bounds

ROWS = [*bounds.products(), *bounds.layers(), *bounds.models()]

LESS = {"layer on 2 x 4, batch 4096": 7_864_320}
"""Bytes where none of the four schemes is the least: weights are gathered over parts of both axes."""


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.title, marks=[pytest.mark.slow] * ("32 x 8 x 2" in row.title)) for row in ROWS],
)
def test_as_little_as_the_best_scheme(row):
    sent, _ = bounds.planned(row.program)
    assert sent == pytest.approx(LESS.get(row.title, 4 * row.words), rel=1e-9)


def test_the_bounds_themselves():
    """Words that move where each device starts and ends with its share, as the literature has them."""
    tall = {3: 960_000, 4: 1_080_000, 36: 760_000, 512: 210_937.5}
    m, n, k = bounds.TALL
    for devices, words in tall.items():
        held = (m * n + m * k + n * k) / devices
        assert bounds.needed(m, n, k, devices) - held == pytest.approx(words)
    for devices, words in {64: 2_359_296, 512: 688_128}.items():
        assert bounds.needed(*bounds.CUBE, devices) - 3 * 4096**2 / devices == pytest.approx(words)


def test_every_scheme_wins_somewhere():
    chosen = {row.scheme for row in bounds.layers()}
    assert chosen == {"weights stay", "gathered over x", "gathered over y", "gathered"}
