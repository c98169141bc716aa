"""Fixtures over tests/corpus/round_trip.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from corpus.round_trip import Canonical, assert_round_trip, compiled
from shardc.interpret.arguments import random_inputs
from shardc.interpret.run import run


@pytest.fixture
def round_trip() -> Callable[..., str]:
    return assert_round_trip


@pytest.fixture
def same() -> Callable[[str, str], bool]:
    """Whether two programs compile to the same per-device program."""

    def compare(one: str, other: str) -> bool:
        return Canonical(compiled(one)[1]).whole() == Canonical(compiled(other)[1]).whole()

    return compare


@pytest.fixture
def run_text() -> Callable[[str], list[np.ndarray]]:
    """The results of a program's per-device form."""

    def results(source: str) -> list[np.ndarray]:
        whole, local = compiled(source)
        arrays = random_inputs(whole.types(whole.main.body.args))
        return [np.asarray(array) for array in run(local, arrays)]

    return results
