"""Resharding plans, run on emulated devices: every device ends with its block, whatever the sizes and axes.

Values are stacked arrays, one row per device. Padding starts as junk, so a step that lets it through is seen.
The axes over which a value may differ are followed too, as JAX's check_vma does.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.forms.collectives import lower
from shardc.graph import TensorType, identity
from shardc.layout import Axis, Dim, Mesh, Sharding, merge, size_of
from shardc.layout.difference import subtract
from shardc.layout.slices import slices
from shardc.planning.reshard import plan
from tests.sampling import examples

COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}
JUNK = 777


class Block:
    """One value on all devices: [devices, *block], and the axes it may differ over."""

    def __init__(self, rows, varying=()):
        self.rows, self.varying = rows, tuple(varying)


class Devices:
    """A Builder that computes on stacked blocks."""

    def __init__(self, mesh):
        self.mesh = mesh

    def type_of(self, value):
        return TensorType(value.rows.shape[1:], "f32" if value.rows.dtype == np.float32 else "i32")

    def one(self, name, *operands, result=None, **attrs):
        rows = [operand.rows for operand in operands]
        varying = [axis for operand in operands for axis in operand.varying]
        axes = attrs.get("axes", ())
        if name == "spmd.all_reduce" or (name == "spmd.all_gather" and attrs["invariant"]):
            varying = subtract(varying, axes)
        else:
            varying = (*subtract(varying, axes), *axes)
        return Block(getattr(self, name.split(".")[1])(*rows, result=result, **attrs), varying)

    def members(self, axes):
        """[devices, positions]: who stands at each position over `axes` of a device's group."""
        weights = [
            prod(s for _, s in self.mesh.axes[list(self.mesh.sizes).index(a.name) + 1 :])
            * (self.mesh.sizes[a.name] // a.end)
            for a in axes
        ]
        own = sum((self.mesh.coordinates(a) * w for a, w in zip(axes, weights, strict=True)), start=0)
        offsets = [
            sum(i * w for i, w in zip(position, weights, strict=True))
            for position in product(*(range(a.size) for a in axes))
        ]
        return (np.arange(self.mesh.size) - own)[:, None] + np.array(offsets)

    def position(self, axes):
        return (self.members(axes) == np.arange(self.mesh.size)[:, None]).argmax(1)

    def constant(self, *, result, value):
        return np.broadcast_to(np.asarray(value.array()), (self.mesh.size, *result.shape))

    def axis_index(self, *, result, axes):
        return self.position(axes).astype(np.int32)

    def multiply(self, x, y, *, result):
        return x * y

    def reshape(self, x, *, result):
        assert prod(x.shape[1:]) == prod(result.shape)
        return x.reshape(len(x), *result.shape)

    def transpose(self, x, *, result, permutation):
        return x.transpose(0, *(p + 1 for p in permutation))

    def slice(self, x, *, result, start_indices, limit_indices, strides):
        ends = zip(start_indices, limit_indices, strides, strict=True)
        return x[(slice(None), *(slice(*end) for end in ends))]

    def pad(self, x, fill, *, result, edge_padding_low, edge_padding_high, interior_padding):
        assert not any(edge_padding_low) and not any(interior_padding)
        return np.pad(x, [(0, 0), *((0, high) for high in edge_padding_high)])

    def dynamic_update_slice(self, x, update, *starts, result=None):
        out = np.array(x)
        for device, block in enumerate(update):
            corner = [int(start[device]) for start in starts]
            out[(device, *(slice(c, c + n) for c, n in zip(corner, block.shape, strict=True)))] = block
        return out

    def all_reduce(self, x, *, result, axes, kind):
        return COMBINE[kind].reduce(x[self.members(axes)], axis=1)

    def all_gather(self, x, *, result, axes, dim, invariant):
        blocks = x[self.members(axes)]
        return np.concatenate([blocks[:, i] for i in range(blocks.shape[1])], axis=dim + 1)

    def all_slice(self, x, *, result, axes, dim):
        assert x.shape[dim + 1] % size_of(axes) == 0
        parts = np.stack(np.split(x, size_of(axes), axis=dim + 1), axis=1)
        return parts[np.arange(len(x)), self.position(axes)]

    def reduce_scatter(self, x, *, result, axes, dim, kind):
        return self.all_slice(
            self.all_reduce(x, result=None, axes=axes, kind=kind), result=None, axes=axes, dim=dim
        )

    def all_to_all(self, x, *, result, axes, split_dim, concat_dim):
        assert x.shape[split_dim + 1] % size_of(axes) == 0
        parts = np.stack(np.split(x, size_of(axes), axis=split_dim + 1), axis=1)
        received = parts[self.members(axes), self.position(axes)[:, None]]
        return np.concatenate([received[:, i] for i in range(received.shape[1])], axis=concat_dim + 1)

    def collective_permute(self, x, *, result, axes, pairs):
        assert sorted(source for source, _ in pairs) == list(range(size_of(axes)))
        source = np.empty(size_of(axes), int)
        for start, end in pairs:
            source[end] = start
        return x[self.members(axes)[np.arange(len(x)), source[self.position(axes)]]]

    def to_partial(self, x, *, result, axes, kind):
        first = (self.position(axes) == 0).reshape(-1, *[1] * (x.ndim - 1))
        return np.where(first, x, identity(kind, "f32")).astype(np.float32)


def distribute(whole, sharding, rng):
    """The blocks of a global array; partial values are random numbers that combine to it."""
    mesh, bounds = sharding.mesh, slices(sharding, whole.shape)
    rows = np.full((mesh.size, *sharding.local_shape(whole.shape)), JUNK, np.float32)
    for device in range(mesh.size):
        block = whole[tuple(slice(a, b) for a, b in bounds[device])]
        rows[(device, *(slice(n) for n in block.shape))] = block
    if sharding.unreduced:
        devices = Devices(mesh)
        last = devices.position(sharding.unreduced) == size_of(sharding.unreduced) - 1
        members = devices.members(sharding.unreduced)
        noise = rng.integers(-9, 9, rows.shape).astype(np.float32)
        if sharding.kind == "sum":
            others = sum(noise[members[:, i]] for i in range(members.shape[1] - 1))
            rows = np.where(last.reshape(-1, *[1] * whole.ndim), rows - others, noise)
        else:
            worse = rows - abs(noise) if sharding.kind == "max" else rows + abs(noise)
            rows = np.where(last.reshape(-1, *[1] * whole.ndim), rows, worse)
    return rows.astype(np.float32)


def carry_out(type, source, target, **options):
    """Run the plan; fail unless every device ends with its block of the global value."""
    rng = np.random.default_rng(0)
    whole = rng.permutation(prod(type.shape)).reshape(type.shape).astype(np.float32)
    devices = Devices(source.mesh)
    uses = [axis for dim in source.dims for axis in dim.axes]
    value = Block(distribute(whole, source, rng), (*uses, *source.unreduced))
    found, now = plan(type, source, target, **options), source
    for step in found.steps:
        attrs = step.attributes(now)
        value = lower(cast(Any, devices), value, type, now, f"sdy.{step.kind}", attrs, step.result)
        now = step.result
        assert value.rows.shape[1:] == now.local_shape(type.shape)
    assert now.layout() == target.layout()
    rows = value.rows
    if target.unreduced:
        rows = devices.all_reduce(rows, result=None, axes=target.unreduced, kind=target.kind)
    for row, bounds in zip(np.asarray(rows), slices(target, type.shape), strict=True):
        block = whole[tuple(slice(a, b) for a, b in bounds)]
        np.testing.assert_array_equal(row[tuple(slice(n) for n in block.shape)], block)
    allowed = [axis for dim in target.dims for axis in dim.axes]
    assert not subtract(value.varying, (*allowed, *target.unreduced)), "JAX would call this value varying"
    return found


def shardings(mesh, rank, partial=False):
    """Every sharding with whole axes."""

    def place(axes):
        if not axes:
            yield [()] * rank, ()
            return
        for dims, unreduced in place(axes[1:]):
            yield dims, unreduced
            if partial:
                yield dims, (axes[0], *unreduced)
            for dim in range(rank):
                for at in range(len(dims[dim]) + 1):
                    more = (*dims[dim][:at], axes[0], *dims[dim][at:])
                    yield [*dims[:dim], more, *dims[dim + 1 :]], unreduced

    for dims, unreduced in place([Axis(*axis) for axis in mesh.axes]):
        yield Sharding(mesh, tuple(map(Dim, dims)), unreduced=unreduced)


def pairs(mesh, rank, every, partial=False):
    """Each `every`-th pair of different shardings."""
    known = list(shardings(mesh, rank, partial))
    return [(a, b) for a, b in product(known, known) if a != b][::every]


CASES = [
    ((("x", 2), ("y", 2), ("z", 2)), (8, 8)),
    ((("x", 2), ("y", 4)), (8, 16)),
    ((("x", 4), ("y", 2)), (4, 2)),
    ((("x", 2), ("y", 3), ("z", 2)), (12, 12)),
    ((("x", 2), ("y", 3)), (5, 7)),
    ((("x", 2), ("y", 3)), (6, 1)),
]


@pytest.mark.parametrize(("axes", "shape"), CASES)
def test_pairs(axes, shape):
    for source, target in pairs(Mesh("m", axes), len(shape), 29 if len(axes) > 2 else 3):
        carry_out(TensorType(shape, "f32"), source, target)


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "shape"), [*CASES, ((("x", 2), ("y", 3), ("z", 4)), (24, 24))])
def test_all_pairs(axes, shape):
    for source, target in pairs(Mesh("m", axes), len(shape), 1):
        carry_out(TensorType(shape, "f32"), source, target)


@pytest.mark.parametrize("shape", [(6, 6), (5, 3)])
def test_partial_pairs(shape):
    for source, target in pairs(Mesh("m", (("x", 2), ("y", 3))), 2, 5, partial=True):
        carry_out(TensorType(shape, "f32"), source, target)


@st.composite
def any_sharding(draw, mesh, rank):
    """Whole axes or halves of axes, shuffled over the dimensions, the partial axes, and nothing."""
    axes = []
    for name, size in mesh.axes:
        if size % 2 == 0 and size > 2 and draw(st.booleans()):
            axes += [Axis(name, 2), Axis(name, size // 2, 2)]
        else:
            axes.append(Axis(name, size))
    dims, partial = [()] * rank, []
    for axis in draw(st.permutations(axes)):
        where = draw(st.integers(-2, rank - 1))
        if where >= 0:
            dims[where] += (axis,)
        elif where == -1 and draw(st.booleans()):
            partial.append(axis)
    kind = draw(st.sampled_from(["sum", "max", "min"]))
    return Sharding(mesh, tuple(Dim(merge(axes)) for axes in dims), unreduced=merge(partial), kind=kind)


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_any_sizes(data):
    sizes = data.draw(st.sampled_from([(2, 3), (4, 2), (6, 1), (8,), (2, 2, 2), (3, 4)]))
    mesh = Mesh("m", tuple(zip("xyz", sizes, strict=False)))
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 5, 6, 7, 8]), min_size=1, max_size=3)))
    source = data.draw(any_sharding(mesh, len(shape)))
    target = data.draw(any_sharding(mesh, len(shape)))
    carry_out(TensorType(shape, "f32"), source, target)


@given(st.data())
@settings(max_examples=examples(90), deadline=None)
def test_any_sizes_on_many_axes(data):
    """Where axes are many, what stays in its place is taken out (planning/reshard/smaller.py)."""
    sizes = data.draw(st.sampled_from([(2, 2, 2, 2), (2, 2, 3, 2), (2, 2, 2, 2, 2)]))
    mesh = Mesh("m", tuple(zip("vwxyz", sizes, strict=False)))
    shape = tuple(data.draw(st.lists(st.sampled_from([3, 6, 8, 12]), min_size=1, max_size=2)))
    source = data.draw(any_sharding(mesh, len(shape)))
    target = data.draw(any_sharding(mesh, len(shape)))
    carry_out(TensorType(shape, "f32"), source, target)


def test_blocks_of_one_axis_less_have_other_elements():
    """12 over three axes of 2 are blocks of 2, none on the last two devices; over two of them blocks of 3."""
    mesh = Mesh("m", tuple((name, 2) for name in "wxyz"))
    w, x, y, _ = mesh.several
    three, two = (Sharding(mesh, (Dim(axes),)) for axes in ((w, x, y), (w, x)))
    carry_out(TensorType((12,), "f32"), three, two)
    carry_out(TensorType((12,), "f32"), two, three)
