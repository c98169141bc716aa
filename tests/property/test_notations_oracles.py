"""The notations against the programs whose notations they are: JAX, XLA, Shardy."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.layout.compare import same_layout
from shardc.layout.notations import hlo, jax, sdy
from shardc.layout.slices import slices
from tests.sampling import examples

theirs = pytest.importorskip("jax")
P = theirs.sharding.PartitionSpec


@st.composite
def layouts(draw: st.DrawFn, devices: int = 8) -> Sharding:
    """Whole axes of a mesh of up to 8 devices in some order, on a tensor of up to three dimensions."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(lambda s: prod(s) <= devices))
    axes = tuple(zip("abc", sizes, strict=False))
    order = draw(st.none() | st.permutations(range(prod(sizes))).map(tuple))
    mesh = Mesh("mesh", axes, order)
    dims: list[list[Axis]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for name, size in draw(st.permutations(axes)):
        place = draw(st.integers(-1, len(dims) - 1))
        if place >= 0:
            dims[place].append(Axis(name, size))
    return Sharding(mesh, tuple(Dim(tuple(dim)) for dim in dims))


def named(sharding: Sharding):
    """The same in JAX."""
    mesh = sharding.mesh
    devices = np.array([Fake(int(d)) for d in mesh.devices.flat]).reshape(mesh.devices.shape)
    spec = P(*(tuple(axis.name for axis in dim.axes) or None for dim in sharding.dims))
    return theirs.sharding.NamedSharding(theirs.sharding.Mesh(devices, tuple(mesh.sizes)), spec)


class Fake:
    """A device as far as shardings look at it."""

    platform = device_kind = "cpu"
    process_index = 0

    def __init__(self, number: int) -> None:
        self.id = number

    def __repr__(self) -> str:
        return f"Fake({self.id})"


@settings(max_examples=examples(60))
@given(sharding=layouts())
def test_slices_are_those_of_jax(sharding: Sharding):
    shape = tuple(dim.parts * 2 for dim in sharding.dims)
    held = named(sharding).devices_indices_map(shape)
    ours = slices(sharding, shape, "refuse").tolist()
    for device, indices in held.items():
        assert [list(index.indices(n)[:2]) for index, n in zip(indices, shape, strict=True)] == ours[
            device.id
        ]


@settings(max_examples=examples(60))
@given(sharding=layouts())
def test_specs_print_as_in_jax(sharding: Sharding):
    entries = [tuple(a.name for a in dim.axes) for dim in sharding.dims]
    while entries and not entries[-1]:
        entries.pop()
    spec = P(*(e if len(e) > 1 else e[0] if e else None for e in entries))
    assert jax.write(sharding) == re.sub(r",\)$", ")", str(spec))
    assert jax.read(repr(spec), sharding.mesh, sharding.rank) == sharding


@settings(max_examples=examples(60))
@given(sharding=layouts())
def test_hlo_is_that_of_jax(sharding: Sharding):
    """JAX numbers devices by their place in the mesh, whatever their own numbers are."""
    placed = Sharding(Mesh("mesh", sharding.mesh.axes), sharding.dims)
    text = str(named(sharding)._to_xla_hlo_sharding(sharding.rank))
    written = hlo.write(placed)
    if text != "{replicated}":
        assert tiles(written) == tiles(text)
    assert same_layout(hlo.read(text, placed.mesh, placed.rank), placed)


@settings(max_examples=examples(60))
@given(sharding=layouts())
def test_xla_reads_what_we_write(sharding: Sharding):
    text = hlo.write(sharding)
    parsed = theirs._src.lib.xla_client.HloSharding.from_string(text)
    if text != "{replicated}":
        assert (parsed.tile_assignment_dimensions(), list(parsed.tile_assignment_devices())) == tiles(text)


def tiles(text: str):
    parsed = theirs._src.lib.xla_client.HloSharding.from_string(text)
    return parsed.tile_assignment_dimensions(), list(parsed.tile_assignment_devices())


def test_hlo_text_is_canonical():
    """Where XLA prints an iota, so do we, with the same numbers."""
    mesh = Mesh("mesh", (("a", 2), ("b", 2), ("c", 2)))
    for spec in (
        "P('a', ('b', 'c'))",
        "P('c')",
        "P(('c', 'a'), 'b')",
        "P('b')",
        "P(None, ('c', 'b', 'a'))",
        "P('a', 'b')",
    ):
        sharding = jax.read(spec, mesh, 2)
        assert hlo.write(sharding) == str(named(sharding)._to_xla_hlo_sharding(2))


@settings(max_examples=examples(60))
@given(sharding=layouts(), extra=st.data())
def test_shardy_reads_what_we_write(sharding: Sharding, extra: st.DataObject):
    ir = pytest.importorskip("jaxlib.mlir.ir")
    dialect = pytest.importorskip("jaxlib.mlir.dialects.sdy")
    dims = tuple(
        Dim(
            dim.axes,
            extra.draw(st.booleans()),
            extra.draw(st.none() | st.integers(0, 3)) if dim.axes else None,
        )
        for dim in sharding.dims
    )
    text = sdy.write(Sharding(sharding.mesh, dims))
    with ir.Context() as context:
        dialect.register_dialect(context)
        assert str(ir.Attribute.parse(text)) == text
    assert sdy.read(text, sharding.mesh).dims == dims
