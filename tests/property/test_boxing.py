"""Boxing keeps the tensor, whatever the shardings, the devices and the sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.layout import KINDS, Dim, LayoutError, Mesh, Sharding
from shardc.layout.boxing import agreed, box, transfers
from shardc.layout.distribute import Array, Blocks, assemble, devices_of, distribute
from shardc.layout.mesh import mesh_of_ranks
from shardc.layout.notations import sbp
from shardc.layout.slices import partials
from shardc.layout.uneven import Policy

POLICIES: tuple[Policy, ...] = ("ceil", "balanced", "chunked")


@st.composite
def shardings(draw: st.DrawFn, rank: int, kinds: tuple[str, ...] = KINDS) -> Sharding:
    """A sharding on some of the devices 0 to 11, in any order."""
    sizes = draw(st.sampled_from([(1,), (2,), (3,), (4,), (2, 2), (3, 2), (2, 1, 3), (2, 2, 2)]))
    axes = tuple((f"a{i}", size) for i, size in enumerate(sizes))
    ranks = draw(st.permutations(range(12)))[: int(np.prod(sizes))]
    mesh = mesh_of_ranks("mesh", axes, ranks)
    places = [draw(st.integers(-2, rank - 1)) for _ in axes]  # -1 copies, -2 partial results
    order = draw(st.permutations(range(len(axes))))
    dims = [Dim(tuple(mesh.axis(axes[i][0]) for i in order if places[i] == dim)) for dim in range(rank)]
    unreduced = tuple(mesh.axis(name) for (name, _), place in zip(axes, places, strict=True) if place == -2)
    return Sharding(mesh, tuple(dims), (), unreduced, draw(st.sampled_from(kinds)))


def held_by(tensor: Array, sharding: Sharding, policy: Policy, seed: int) -> dict[int, Array]:
    """Blocks whose partial results all count: they add up to the tensor, or the tensor is their extremum."""
    blocks = distribute(tensor, sharding, policy)
    number = dict(zip(devices_of(sharding), partials(sharding).tolist(), strict=True))
    noise = np.random.default_rng(seed).integers(0, 9, (max(number.values()) + 1, *tensor.shape))
    noise[0] = 0
    first = {"sum": tensor - noise.sum(axis=0), "max": tensor, "min": tensor}[sharding.kind]
    others = {"sum": noise, "max": tensor - noise, "min": tensor + noise}[sharding.kind]
    whole = Sharding(sharding.mesh, sharding.dims)
    for device in blocks:
        part = others[number[device]] if number[device] else first
        blocks[device] = distribute(part, whole, policy)[device]
    return blocks


@given(st.data(), st.sampled_from(POLICIES), st.sampled_from(POLICIES), st.integers(0, 99))
def test_the_tensor_stays(data: st.DataObject, policy: Policy, other: Policy, seed: int) -> None:
    shape = data.draw(st.lists(st.integers(0, 7), max_size=3))
    source, target = (data.draw(shardings(len(shape))) for _ in range(2))
    tensor = np.random.default_rng(seed).integers(-9, 9, shape)
    held = held_by(tensor, source, policy, seed)
    assert_equal(assemble(held, source, policy), tensor)
    found = box(held, source, target, policy, other)
    assert_equal(assemble(found, target, other), tensor)


@given(st.data())
def test_nobody_takes_from_others_what_it_holds(data: st.DataObject) -> None:
    source = data.draw(shardings(2))
    target = data.draw(shardings(2))
    table = transfers((6, 5), source, target)
    for move in table:
        own = [m for m in table if (m.receiver, m.region) == (move.receiver, move.region)]
        assert len({m.sender for m in own}) == len(own)
    again = transfers((6, 5), source, source)
    assert all(move.sender == move.receiver for move in again)


def assert_equal(got: Array, expected: Array) -> None:
    assert got.shape == expected.shape
    assert np.array_equal(got, expected)


def blocks(*arrays: list[int]) -> Blocks:
    return {i: np.array(a) for i, a in enumerate(arrays)}


def sharded(text: str, ranks: str, rank: int = 1) -> Sharding:
    return sbp.read(text, sbp.read_mesh(ranks), rank)


def test_copies_take_turns() -> None:
    source, target = sharded("(B,)", "[0, 1]"), sharded("(B,)", "[2, 3, 4]")
    moves = [(m.sender, m.receiver) for m in transfers((4,), source, target)]
    assert moves == [(0, 2), (1, 3), (0, 4)]


def test_a_partial_maximum_becomes_a_partial_sum() -> None:
    mesh = Mesh("mesh", (("x", 2),))
    source = Sharding(mesh, (Dim(),), (), (mesh.axis("x"),), "max")
    target = Sharding(mesh, (Dim(),), (), (mesh.axis("x"),), "sum")
    found = box(blocks([1, 5], [3, 2]), source, target)
    assert [b.tolist() for b in found.values()] == [[3, 5], [0, 0]]


def test_a_missing_block() -> None:
    with pytest.raises(LayoutError, match="device 1 gives no block"):
        box(blocks([1]), sharded("(S(0),)", "[0, 1]"), sharded("(B,)", "[0]"))


def test_other_ranks() -> None:
    with pytest.raises(LayoutError, match="has 1 dimensions"):
        transfers((4,), sharded("(B,)", "[0]"), sharded("(B,)", "[0]", 2))


def test_the_first_copy_counts() -> None:
    found = agreed(blocks([1], [2], [3], [4]), sharded("(S(0), B)", "[[0, 1], [2, 3]]"))
    assert [b.tolist() for b in found.values()] == [[1], [1], [3], [3]]
