"""Operations on results of collectives come late, and the program is the same: drawn graphs of operations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.dialects.build import IRBuilder, Value
from shardc.dialects.snapshot import snapshot
from shardc.dialects.wellformed import verify
from shardc.graph import TensorType
from shardc.graph.attrs import DotDims
from shardc.interpret.run import run
from shardc.ops import hlo
from shardc.rewrite.waiting import let_wait

F32 = TensorType((2, 2), "f32")
DIMS = DotDims((), (), (1,), (0,))
X = np.array([[0.5, -0.25], [0.125, 0.75]], np.float32)


@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12),
    starts=st.sets(st.integers(0, 11)),
)
def test_the_same_results(steps: list[tuple[bool, int, int]], starts: set[int]) -> None:
    """Products, which do not wait, and sums of any two earlier values; some of them begin what waits."""
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
    body = snap.graph.main.body
    let_wait(snap, body, {node.id for place, node in enumerate(body.nodes[:-1]) if place in starts})
    verify(builder.module)
    for had, want in zip(run(snapshot(builder.module).graph, [X]), wanted, strict=True):
        np.testing.assert_array_equal(had, want)


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
    snap = snapshot(builder.module)
    body = snap.graph.main.body
    let_wait(snap, body, {body.nodes[0].id})
    names = [node.name for node in snapshot(builder.module).graph.main.body.nodes]
    assert (names.index(hlo.custom_call.name) < names.index(hlo.dot_general.name)) is seen
