"""Random shard_map programs (generator.py), compiled for both targets, against JAX on CPU devices.

A failure names the seed: `program(seed)` makes the program again.
"""

from __future__ import annotations

from typing import Any

import pytest

jax = pytest.importorskip("jax")

from tests.unit.shard_map.generator import program  # noqa: E402

QUICK, ALL = 30, 1000


def check(agree: Any, seed: int) -> None:
    drawn = program(seed)
    try:
        agree(drawn.function, *drawn.arguments, in_shardings=drawn.in_shardings)
    except Exception as error:
        error.add_note(f"seed {seed}: {drawn.text}")
        raise


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_program(agree: Any, seed: int) -> None:
    check(agree, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, ALL, 40))
def test_many_programs(agree: Any, first: int) -> None:
    for seed in range(first, min(first + 40, ALL)):
        check(agree, seed)


def test_a_seed_makes_one_program() -> None:
    assert [program(seed).text for seed in range(5)] == [program(seed).text for seed in range(5)]
    assert len({program(seed).text for seed in range(20)}) == 20
