"""Collectives go together, operations on their results come late, and the program is the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.dialects.build import IRBuilder, Value
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.dialects.wellformed import verify
from shardc.graph import TensorType
from shardc.graph.attrs import DotDims
from shardc.interpret.run import run
from shardc.ops import hlo
from shardc.rewrite.combining import Groups
from shardc.rewrite.waiting import in_order, needed, needs

F32 = TensorType((2, 2), "f32")
DIMS = DotDims((), (), (1,), (0,))
X = np.array([[0.5, -0.25], [0.125, 0.75]], np.float32)


def reordered(snap: Snapshot, groups: list[list[int]]) -> list[int]:
    """Put the operations of main into the order; it."""
    nodes = snap.graph.main.body.nodes
    order = in_order(nodes, needs(nodes), groups)
    ops = [snap.ops[node.id] for node in nodes]
    block = ops[0].parent
    assert block is not None
    for op in ops:
        op.detach()
    block.add_ops([ops[place] for place in order])
    return order


@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12),
    starts=st.sets(st.integers(0, 11)),
    pairs=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=12),
)
def test_the_same_results(
    steps: list[tuple[bool, int, int]], starts: set[int], pairs: list[tuple[int, int]]
) -> None:
    """Products, which do not wait, and sums of any two earlier values; some of them stand for collectives,
    and as many of the pairs as can be are together."""
    builder = IRBuilder()
    with builder.func("main", [F32]) as (x,):
        values: list[Value] = [x]
        for product, left, right in steps:
            a, b = values[left % len(values)], values[right % len(values)]
            if product:
                values.append(builder.one(hlo.dot_general.name, a, b, dot_dimension_numbers=DIMS))
            else:
                values.append(builder.one(hlo.add.name, a, b))
        builder.ret(values[-3:])
    snap = snapshot(builder.module)
    wanted = run(snap.graph, [X])
    places = sorted(place for place in starts if place < len(steps))
    joined = Groups(needed(needs(snap.graph.main.body.nodes), places))
    for one, other in pairs:
        if max(one, other) < len(places):
            joined.join(one, other)
    groups = list(dict.fromkeys(joined.own))
    together = [[place for at, place in enumerate(places) if bits >> at & 1] for bits in groups]
    order = reordered(snap, together)
    verify(builder.module)
    for had, want in zip(run(snapshot(builder.module).graph, [X]), wanted, strict=True):
        np.testing.assert_array_equal(had, want)
    for group in together:
        at = [order.index(place) for place in group]
        assert sorted(at) == [*range(min(at), max(at) + 1)]


@given(
    needs=st.lists(st.integers(0, 255), min_size=8, max_size=8),
    pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20),
)
def test_groups_can_be_done_one_after_the_other(needs: list[int], pairs: list[tuple[int, int]]) -> None:
    """No group needs another that needs it, in any number of steps, and two are apart only for that."""
    bits = [0] * 8
    for number, wanted in enumerate(needs):
        for other in range(number):
            if wanted >> other & 1:
                bits[number] |= bits[other] | 1 << other
    groups = Groups(bits)
    for one, other in pairs:
        had = groups.copy()
        if not groups.join(one, other):
            assert (groups.own, groups.needs) == (had.own, had.needs)
            assert had.own[one] & had.needs[other] or had.own[other] & had.needs[one] or one == other
    done, left = 0, list(dict.fromkeys(zip(groups.own, groups.needs, strict=True)))
    while left:
        ready = [own for own, wanted in left if not wanted & ~done]
        assert ready
        done |= sum(ready)
        left = [each for each in left if each[0] not in ready]


@pytest.mark.parametrize("seen", [False, True])
def test_what_somebody_sees_does_not_wait(seen: bool) -> None:
    """A call of the host stays where it is, one without effect comes after the product."""
    builder = IRBuilder()
    effect = {"has_side_effect": True} if seen else {}
    with builder.func("main", [F32]) as (x,):
        first = builder.one(hlo.add.name, x, x)
        called = builder.one(
            hlo.custom_call.name, first, result=F32, call_target_name="host", api_version=1, **effect
        )
        product = builder.one(hlo.dot_general.name, x, x, dot_dimension_numbers=DIMS)
        builder.ret([called, product])
    reordered(snapshot(builder.module), [[0]])
    names = [node.name for node in snapshot(builder.module).graph.main.body.nodes]
    assert (names.index(hlo.custom_call.name) < names.index(hlo.dot_general.name)) is seen


def test_effects_keep_their_order() -> None:
    """Of two calls of the host the second is needed before, by what goes with the first of two sums."""
    builder = IRBuilder()
    call = {"result": F32, "call_target_name": "host", "api_version": 1, "has_side_effect": True}
    with builder.func("main", [F32]) as (x,):
        one = builder.one(hlo.add.name, x, x)
        product = builder.one(hlo.dot_general.name, one, x, dot_dimension_numbers=DIMS)
        called = builder.one(hlo.custom_call.name, x, **call)
        again = builder.one(hlo.custom_call.name, x, **call)
        two = builder.one(hlo.add.name, again, x)
        builder.ret([product, called, two])
    assert reordered(snapshot(builder.module), [[0, 4]]) == [2, 3, 0, 4, 1, 5]
