"""Every node test of the formalism's groups, sharded along each axis: right, or refused by --check."""

from __future__ import annotations

import warnings

import pytest

from tests.onnx_nodes import check
from tests.onnx_pairs import computed, pairs, refusals

pytestmark = pytest.mark.slow  # minutes


def test_allowed_pairs_are_right_and_clean() -> None:
    allowed = [pair for pair in pairs() if pair.allowed]
    assert len(allowed) >= 485
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair in allowed:
            check(pair.case, computed(pair))
            assert refusals(pair) == [], pair.name


def test_forbidden_pairs_are_refused() -> None:
    forbidden = [pair for pair in pairs() if not pair.allowed]
    assert forbidden
    for pair in forbidden:
        assert refusals(pair), pair.name
