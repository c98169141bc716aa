"""Equality and refinement of layouts; replicas and partial results."""

from __future__ import annotations

from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.layout.compare import finer, same_layout
from shardc.layout.slices import partial_groups, replica_groups

GRID = Mesh("grid", (("a", 2), ("b", 2)))
LINE = Mesh("line", (("x", 4),))
A, B, X = GRID.axis("a"), GRID.axis("b"), LINE.axis("x")


def on_grid(*axes: Axis, partial: tuple[Axis, ...] = (), kind: str = "sum") -> Sharding:
    return Sharding(GRID, (Dim(axes),), (), partial, kind)


def on_line(*axes: Axis, partial: tuple[Axis, ...] = ()) -> Sharding:
    return Sharding(LINE, (Dim(axes),), (), partial)


def test_other_axes_may_say_the_same():
    assert same_layout(on_grid(A, B), on_line(X))
    assert same_layout(on_grid(A), on_line(Axis("x", 2)))
    assert same_layout(on_grid(B, A), on_line(Axis("x", 2, 2), Axis("x", 2)))
    assert not same_layout(on_grid(B, A), on_line(X))


def test_the_order_of_devices_counts():
    crossed = Mesh("crossed", (("a", 2), ("b", 2)), (0, 2, 1, 3))
    assert same_layout(Sharding(crossed, (Dim((A,)),)), on_grid(B))


def test_a_shape_may_make_layouts_equal():
    assert not same_layout(on_grid(A, B), on_grid(A))
    assert same_layout(on_grid(A, B), on_grid(A), (0,))
    assert not same_layout(on_grid(A, B), on_line(X), (6,), "balanced")
    assert same_layout(on_grid(A, B), on_line(X), (6,), "ceil")


def test_partial_results():
    assert same_layout(on_grid(A, partial=(B,)), on_line(Axis("x", 2), partial=(Axis("x", 2, 2),)))
    assert not same_layout(on_grid(A, partial=(B,)), on_grid(A))
    assert not same_layout(on_grid(A, partial=(B,)), on_grid(A, partial=(B,), kind="max"))
    assert not same_layout(on_grid(partial=(A,)), on_grid(partial=(B,)))


def test_finer_layouts_need_no_communication():
    assert finer(on_grid(A, B), on_grid(A)) and not finer(on_grid(A), on_grid(A, B))
    assert finer(on_grid(A, B), on_line(Axis("x", 2))) and not finer(on_grid(A, B), on_grid(B))
    assert finer(on_grid(A, partial=(B,)), on_grid(partial=(B,)))
    assert not finer(on_grid(A), on_grid(partial=(B,)))
    assert not finer(on_grid(A), on_grid(partial=(A,)))


def test_other_devices_or_ranks():
    assert not same_layout(on_grid(A), Sharding(Mesh("m", (("a", 2),)), (Dim((A,)),)))
    assert not same_layout(on_grid(A), Sharding(GRID, (Dim((A,)), Dim())))
    four = Mesh("m", (("a", 2), ("b", 2)), ranks=(4, 5, 6, 7))
    assert not same_layout(on_grid(A), Sharding(four, (Dim((A,)),)))
    one, other = (Sharding(Mesh("m", (), (n,)), (Dim(),)) for n in (3, 4))
    assert same_layout(one, one) and not same_layout(one, other)


def test_groups():
    assert replica_groups(on_grid(B)).tolist() == [[0, 2], [1, 3]]
    assert partial_groups(on_grid(B, partial=(A,))).tolist() == [[0, 2], [1, 3]]
    assert replica_groups(on_grid(B, partial=(A,))).tolist() == [[0], [1], [2], [3]]
