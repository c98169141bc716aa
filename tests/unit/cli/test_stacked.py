"""All-to-alls of equal arrays are written as one, of their stack."""

from __future__ import annotations

import pytest

import shardc

ULYSSES = """mesh pod[sp=4]

def attend(
    q: f32[2, 16@sp, 8, 4], k: f32[2, 16@sp, 8, 4], v: f32[2, 16@sp, 8, 4]
) -> f32[2, 16@sp, 8, 4]:
    q2: f32[2, 16, 8@sp, 4] = q
    k2: f32[2, 16, 8@sp, 4] = k
    v2: f32[2, 16, 8@sp, 4] = v
    w = softmax(einsum("bqhk,bshk->bhqs", q2, k2))
    return einsum("bhqs,bshk->bqhk", w, v2)
"""
"""Attention from a sequence split to a head split and back."""

ALONE = ULYSSES.replace("[2, ", "[1, ")
"""Of one sequence: what comes from a device is in one piece."""


def test_queries_keys_and_values_go_together():
    source = shardc.compile(ULYSSES).source
    assert source.count("lax.all_to_all(") == 2
    assert "q, k, v = lax.all_to_all(" in source
    apart, together = (shardc.cost(ULYSSES, combine=combine) for combine in (0, None))
    assert together.bytes == apart.bytes
    assert (len(apart.collectives), len(together.collectives)) == (4, 2)


@pytest.mark.parametrize("machine", ["balanced", "bytes", "h100-infiniband", "tpu-v5e"])
def test_no_machine_takes_longer(machine: str):
    apart, together = (
        shardc.cost(ULYSSES, machine=machine, tries=0, combine=combine) for combine in (0, None)
    )
    assert together.time is not None
    assert apart.time is not None
    assert together.time.total_ns <= apart.time.total_ns + 1  # each is rounded


@pytest.mark.parametrize(
    "options",
    [
        *({"combine": 0}, {"combine": 1000}),
        *({"memory": 1 << 20}, {"memory_limit": 1 << 20}, {"target": "numpy"}),
    ],
    ids=str,
)
def test_options_leave_them_apart(options):
    """A thousand bytes are less than two arrays."""
    assert shardc.compile(ULYSSES, **options).source.count(".all_to_all(") == 4


def test_where_a_stack_is_copied_latency_pays_for_it():
    assert shardc.compile(ALONE).source.count("lax.all_to_all(") == 4
    assert shardc.compile(ALONE, machine="h100-infiniband").source.count("lax.all_to_all(") == 2
