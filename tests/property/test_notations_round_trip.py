"""Every layout, written in every notation and read again, puts the same on every device.

And each notation refuses exactly what it has no words for.
"""

from __future__ import annotations

from math import prod
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shardc.layout import KINDS, Axis, Dim, LayoutError, Mesh, Sharding
from shardc.layout.compare import finer, same_layout
from shardc.layout.distribute import assemble, distribute
from shardc.layout.notations import NOTATIONS
from shardc.layout.recognise import in_mesh, on_own_mesh, table_of
from shardc.layout.refine import refined
from shardc.layout.slices import local_shapes, slices
from shardc.layout.uneven import Policy
from tests.sampling import examples


@st.composite
def meshes(draw: st.DrawFn) -> Mesh:
    sizes = draw(
        st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3).filter(lambda s: prod(s) <= 48)
    )
    axes = tuple(zip("abc", sizes, strict=False))
    order = draw(st.none() | st.permutations(range(prod(sizes))).map(tuple))
    return Mesh("m", axes, order)


@st.composite
def shardings(draw: st.DrawFn, partials: bool = True) -> Sharding:
    """Any closed sharding, parts of axes included."""
    mesh = draw(meshes())
    atoms: list[Axis] = []
    for name, size in mesh.axes:
        cut = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        atoms += (
            [Axis(name, cut)]
            if cut == size
            else [Axis(name, n, p) for n, p in ((cut, 1), (size // cut, cut)) if n > 1]
        )
    atoms = draw(st.permutations(atoms))
    rank = draw(st.integers(1, 3))
    dims: list[list[Axis]] = [[] for _ in range(rank)]
    unreduced: list[Axis] = []
    for atom in atoms:
        place = draw(st.integers(-1 - partials, rank - 1))
        if place >= 0:
            dims[place].append(atom)
        elif place == -2:
            unreduced.append(atom)
    kind = draw(st.sampled_from(KINDS))
    return Sharding(mesh, tuple(Dim(tuple(axes)) for axes in dims), (), tuple(unreduced), kind).check()


def again(name: str, sharding: Sharding) -> Sharding:
    """Written and read, mesh included."""
    notation = NOTATIONS[name]
    text = notation.write(sharding)
    mesh = sharding.mesh
    if notation.write_mesh and notation.read_mesh:
        mesh = notation.read_mesh(notation.write_mesh(sharding))
    return notation.read(text, mesh, sharding.rank)


@pytest.mark.parametrize("name", ["sdy", "hlo", "jax"])
@given(sharding=shardings())
def test_all_but_partial_max_and_min(name: str, sharding: Sharding):
    if sharding.unreduced and sharding.kind != "sum":
        with pytest.raises(LayoutError, match="knows partial sums only"):
            again(name, sharding)
    else:
        assert same_layout(again(name, sharding), sharding)


@pytest.mark.parametrize("name", ["mindspore", "onnx"])
@given(sharding=shardings())
def test_all_but_partial_results(name: str, sharding: Sharding):
    if sharding.unreduced:
        with pytest.raises(LayoutError, match="cannot say that a tensor is a partial"):
            again(name, sharding)
    else:
        assert same_layout(again(name, sharding), sharding)


@given(sharding=shardings())
def test_sbp_splits_in_mesh_order(sharding: Sharding):
    whole = refined(sharding)
    ordered = all(list(dim.axes) == sorted(dim.axes, key=whole.mesh.order) for dim in whole.dims)
    if (sharding.unreduced and sharding.kind != "sum") or not ordered:
        with pytest.raises(LayoutError, match=r"partial sums only|in the order of the placement"):
            again("sbp", sharding)
    else:
        assert same_layout(again("sbp", sharding), sharding)


@given(sharding=shardings())
def test_dtensor_has_words_for_all(sharding: Sharding):
    assert same_layout(again("dtensor", sharding), sharding)


@given(sharding=shardings())
def test_sdy_text_is_the_same_sharding(sharding: Sharding):
    assume(sharding.kind == "sum")
    assert again("sdy", sharding) == sharding


@given(sharding=shardings())
def test_a_table_is_recognised_in_its_mesh_and_in_one_of_its_own(sharding: Sharding):
    table = table_of(sharding)
    assert same_layout(in_mesh(table, sharding.mesh), sharding)
    assert same_layout(on_own_mesh(table), sharding)


@given(sharding=shardings())
def test_refining_changes_no_layout(sharding: Sharding):
    whole = refined(sharding)
    assert all(whole.mesh.is_full(axis) for axis in whole.axes())
    assert same_layout(whole, sharding)


@given(sharding=shardings(), shape=st.lists(st.integers(0, 20), min_size=3, max_size=3), data=st.data())
def test_blocks_cover_a_tensor_under_every_policy(sharding: Sharding, shape: list[int], data: st.DataObject):
    policy: Policy = data.draw(st.sampled_from(get_args(Policy)))
    shape = shape[: sharding.rank]
    if policy == "refuse" and sharding.uneven(shape):
        with pytest.raises(LayoutError, match="not divisible"):
            slices(sharding, shape, policy)
        return
    tensor = np.arange(prod(shape)).reshape(shape)
    held = distribute(tensor, sharding, policy)
    assert [b.shape for b in held.values()] == [
        tuple(s) for s in local_shapes(sharding, shape, policy).tolist()
    ]
    assert np.array_equal(assemble(held, sharding, policy), tensor)


@settings(max_examples=examples(200))
@given(sharding=shardings(), shape=st.lists(st.integers(0, 20), min_size=3, max_size=3))
def test_a_written_shape_has_the_same_blocks_there(sharding: Sharding, shape: list[int]):
    shape = shape[: sharding.rank]
    for name, notation in NOTATIONS.items():
        try:
            notation.write(sharding, shape)
        except LayoutError:
            continue
        read = again(name, sharding)
        assert np.array_equal(slices(read, shape, notation.policy), slices(sharding, shape)), name


@given(sharding=shardings(partials=False), data=st.data())
def test_finer(sharding: Sharding, data: st.DataObject):
    coarser = sharding.with_dims(
        [dim.axes[: data.draw(st.integers(0, len(dim.axes)))] for dim in sharding.dims]
    )
    assert finer(sharding, coarser) and finer(sharding, sharding)
    assert finer(coarser, sharding) == same_layout(coarser, sharding)
