"""Plans attain the lower bounds of single products and the formulas of known schemes: bench/bounds.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def _bounds():
    path = Path(__file__).parents[3] / "bench" / "bounds.py"
    spec = importlib.util.spec_from_file_location("bounds", path)
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bounds = _bounds()
ROWS = [*bounds.products(), *bounds.layers(), *bounds.models()]


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.title, marks=[pytest.mark.slow] * ("32 x 8 x 2" in row.title)) for row in ROWS],
)
def test_nothing_sends_less(row):
    sent, _ = bounds.planned(row.program)
    assert sent == pytest.approx(4 * row.words, rel=1e-9)


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
