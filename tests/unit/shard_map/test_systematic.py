"""Systematic shard_map programs (systematic.py), compiled for both targets, against their references, and
printed by --emit shard and compiled again.

A failure names the seed: `case(seed)` makes the program again.
"""

from __future__ import annotations

import numpy as np
import pytest

import shardc

jax = pytest.importorskip("jax")

from tests.corpus.round_trip import assert_round_trip  # noqa: E402
from tests.tolerance import assert_near  # noqa: E402
from tests.unit.shard_map.systematic import case  # noqa: E402

QUICK, ALL = 15, 1500


def check(seed: int) -> None:
    drawn = case(seed)
    try:
        want = jax.tree.leaves(jax.jit(drawn.reference)(*drawn.arguments))
        for target in ("jax", "numpy"):
            program = shardc.from_jax(drawn.function, *drawn.arguments, target=target)
            got = jax.tree.leaves(program.main(*drawn.arguments))
            for one, other in zip(got, want, strict=True):
                assert (np.shape(one), one.dtype) == (np.shape(other), other.dtype)
                assert_near(one, other, terms=1024, text=target)
    except Exception as error:
        error.add_note(f"seed {seed}: {drawn.text}")
        raise


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_case(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, ALL, 30))
def test_many_cases(first: int) -> None:
    for seed in range(first, min(first + 30, ALL)):
        check(seed)


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_round_trip(seed: int) -> None:
    drawn = case(seed)
    assert_round_trip(jax.jit(drawn.function).lower(*drawn.arguments).as_text(debug_info=True), "p.mlir")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, ALL, 30))
def test_many_round_trips(first: int) -> None:
    for seed in range(first, min(first + 30, ALL)):
        test_a_round_trip(seed)
