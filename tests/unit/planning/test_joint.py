"""Which collectives are one: against the times of all sets."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.layout import Mesh
from shardc.ops import spmd
from shardc.ops.definition import OpDef
from shardc.planning.machines import Joint, Stages, Wanted, load
from shardc.planning.machines.joint import joined
from shardc.planning.machines.links import farthest

MESH = Mesh("pod", (("data", 8),))
OVER = (MESH.axis("data"),)
MOST = 1 << 25


def wanted(op: OpDef, size: int) -> Wanted:
    """Of f32 arrays with `size` times 8 elements."""
    if op is spmd.collective_permute:
        return Wanted(op, OVER, (8 * size,), 4, pairs=tuple((i, (i + 1) % 8) for i in range(8)))
    dim = None if op is spmd.all_reduce else 0
    return Wanted(op, OVER, (8 * size,), 4, dim, None if op is spmd.all_gather else "sum")


def seconds(stages: Stages, group: list[Wanted]) -> float:
    """Of some as one, or of one alone."""
    if len(group) == 1:
        return stages.seconds(group[0])
    copied = sum(each.nbytes + each.result_bytes for each in group)
    return stages.seconds(joined(group)) + 2 * copied / stages.machine.bandwidth


@pytest.mark.parametrize(
    "op",
    [spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter, spmd.collective_permute],
    ids=lambda op: op.short,
)
@given(sizes=st.lists(st.integers(1, 3_000_000), min_size=1, max_size=5))
def test_no_set_with_the_first_is_quicker(op: OpDef, sizes: list[int]) -> None:
    """On a ring, where the time of a set is a sum over its members but for one latency."""
    machine = load("h100-infiniband")
    stages, alike = Stages(machine, MESH), [wanted(op, size) for size in sizes]
    found = Joint(MESH, machine, 1 << 40).chosen(alike)

    def all_take(group: list[int]) -> float:
        alone = [seconds(stages, [each]) for i, each in enumerate(alike) if i not in group]
        return seconds(stages, [alike[i] for i in group]) + sum(alone)

    others = range(1, len(alike))
    sets = [[0, *some] for n in range(len(alike)) for some in combinations(others, n)]
    assert all_take(found) <= min(map(all_take, sets)) * (1 + 1e-9)


def test_without_latency_nothing_is_one() -> None:
    assert Joint(MESH, load("balanced"), MOST).chosen([wanted(spmd.all_reduce, 8)] * 3) == [0]


def test_what_is_free_is_not_copied_for_nothing() -> None:
    assert Joint(MESH, load("bytes"), MOST).chosen([wanted(spmd.all_reduce, 8)] * 3) == [0]


def test_the_limit_is_of_what_is_gathered() -> None:
    """Three gathers of 1,024 bytes, 8,192 together each, and room for two."""
    gathers = [wanted(spmd.all_gather, 32)] * 3
    assert Joint(MESH, load("h100-infiniband"), 2 * 8192).chosen(gathers) == [0, 1]
    assert Joint(MESH, None, 2 * 8192).chosen(gathers) == [0, 1]


@pytest.mark.parametrize("count", [4, 7, 16])
def test_two_pairs_say_how_long_a_permute_takes(count):
    """On a line and on a ring the longest of all ways is one of theirs."""
    draw = random.Random(count)
    for _ in range(50):
        targets = draw.sample(range(count), count)
        pairs = tuple(enumerate(targets))[: draw.randint(1, count)]
        few = farthest(pairs, count)
        assert len(few) <= 2 and {*few} <= {*pairs}

        def longest(some, ring):
            return max(min(abs(a - b), count - abs(a - b)) if ring else abs(a - b) for a, b in some)

        assert all(longest(few, ring) == longest(pairs, ring) for ring in (False, True))
    assert farthest((), count) == ()
