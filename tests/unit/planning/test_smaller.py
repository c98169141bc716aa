"""Changes of layout with what stays taken out are the same changes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.graph import TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding, size_of
from shardc.planning.reshard import planner
from shardc.planning.reshard.planner import TooLittleMemory, plan
from shardc.planning.reshard.smaller import smaller
from tests.sampling import examples

MESH = Mesh("m", (("x", 2), ("y", 2), ("z", 2), ("m", 4)))
AXES = {axis.name: axis for axis in MESH.several}


def on(*dims: str, partial: str = "") -> Sharding:
    axes = [tuple(map(AXES.__getitem__, dim)) for dim in dims]
    return Sharding(MESH, tuple(map(Dim, axes)), unreduced=tuple(map(AXES.__getitem__, partial)))


def test_what_stays_and_what_goes_together() -> None:
    type, source, target = TensorType((64, 32), "f32"), on("xyz", "m"), on("x", "yzm")
    found = smaller(type, source, target, frozenset())
    assert found is not None
    assert found.type.shape == (32, 32)
    assert (str(found.source), str(found.target)) == ("[a0, a1]", "[-, (a0, a1)]")
    assert dict(found.source.mesh.axes) == {"a0": 4, "a1": 4}
    assert (found.back(found.source, source), found.back(found.target, target)) == (source, target)


def test_parts_of_a_run_are_parts_of_its_axes() -> None:
    found = smaller(TensorType((64, 32), "f32"), on("xyz", ""), on("", "xyz"), frozenset())
    assert found is not None
    mesh = found.source.mesh
    for size, pre, names in ((2, 1, "x"), (2, 4, "z"), (4, 1, "xy"), (4, 2, "yz")):
        part = Sharding(mesh, (Dim((Axis("a0", size, pre),)), Dim()))
        assert found.back(part, on("", "")) == on(names, "")


def test_nothing_is_smaller_where_all_goes_its_own_way() -> None:
    assert smaller(TensorType((64, 32), "f32"), on("x", "y"), on("y", "x"), frozenset()) is None


def test_what_stays_divides_its_dimension_with_what_goes() -> None:
    found = smaller(TensorType((8, 32), "f32"), on("xyz", ""), on("xy", "z"), frozenset())
    assert found is not None
    assert (found.type.shape, str(found.source)) == ((2, 32), "[a0, -]")
    found = smaller(TensorType((6, 32), "f32"), on("xyz", ""), on("x", "yz"), frozenset())
    assert found is not None
    assert (found.type.shape, str(found.source)) == ((6, 32), "[(a0, a1), -]")


def test_blocks_that_do_not_tile_are_no_blocks_of_what_stays() -> None:
    """12 over x, y and z are blocks of 2, two of which are no block of 3 over x and y."""
    found = plan(TensorType((12,), "f32"), on("xyz"), on("xy"))
    assert [str(step.result) for step in found.steps] == ["[-]", "[(x, y)]"]


def test_axes_of_one_device_are_told_jax_about() -> None:
    mesh = Mesh("m", (("one", 1), *MESH.axes))
    one, x = mesh.axis("one"), mesh.axis("x")
    split, other = (Sharding(mesh, (Dim(axes),)) for axes in ((x, one), (x,)))
    assert smaller(TensorType((8,), "f32"), split, other, frozenset()) is None
    assert [step.kind for step in plan(TensorType((8,), "f32"), split, other).steps] == ["all_gather"]


def test_too_little_memory_is_told_in_the_axes_of_the_program() -> None:
    with pytest.raises(TooLittleMemory, match=r"from \[\(x, y, z\), m\] to \[x, m\]"):
        plan(TensorType((64, 32), "f32"), on("xyz", "m"), on("x", "m"), 8)


def test_sizes_of_two_primes_are_no_one_axis() -> None:
    mesh = Mesh("m", (("a", 2), ("b", 3), ("c", 2), ("d", 2)))
    a, b, c, d = mesh.several
    source = Sharding(mesh, (Dim((a, b)), Dim((c, d))))
    target = Sharding(mesh, (Dim((c, d)), Dim((a, b))))
    found = smaller(TensorType((48, 48), "f32"), source, target, frozenset())
    assert found is not None
    assert dict(found.source.mesh.axes) == {"a0": 2, "a1": 3, "a2": 4}


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_no_more_is_sent_than_by_a_search_over_all_axes(data: st.DataObject) -> None:
    def drawn(partial: bool) -> Sharding:
        places = (0, 1, None, *((2,) if partial else ()))
        where = {name: data.draw(st.sampled_from(places)) for name in AXES}
        order = data.draw(st.permutations(sorted(AXES)))
        dims = ["".join(name for name in order if where[name] == dim) for dim in (0, 1)]
        return on(*dims, partial="".join(name for name in AXES if where[name] == 2))

    type = TensorType((data.draw(st.sampled_from((64, 48, 12, 7))), 64), "f32")
    source, target = drawn(True), drawn(False)
    whole = planner.MANY
    try:
        planner.MANY = len(AXES)
        every = plan.__wrapped__(type, source, target)
    finally:
        planner.MANY = whole
    found = plan.__wrapped__(type, source, target)
    assert found.cost.bytes <= every.cost.bytes
    steps = [source, *(step.result for step in found.steps)]
    assert steps[-1] == (target if found.steps else source)
    assert all(one != other for one, other in pairwise(steps))
    for one, other in pairwise(steps):
        for size, before, after in zip(type.shape, one.dims, other.dims, strict=True):
            longer, shorter = sorted((before.axes, after.axes), key=size_of, reverse=True)
            if shorter and longer[: len(shorter)] == shorter:
                parts = size_of(longer) // size_of(shorter)
                assert -(-size // size_of(longer)) * parts == -(-size // size_of(shorter))
