"""What each operation of a written NumPy program allocates: nothing (a view), its result, and what it needs
meanwhile.

A rule takes an `Evaluation` and gives an `Allocation`; here are those of operations that are not simply one
new array. Products and convolutions are in products.py. Sizes are in bytes.
"""

from __future__ import annotations

from math import prod
from typing import cast

from msgspec.structs import replace

from shardc.analysis.collectives import axes_of
from shardc.backend.numpy.allocation.calls import (
    BUFFER,
    Allocation,
    Evaluation,
    allocates,
    array,
    operator,
    row_major,
)
from shardc.backend.numpy.allocation.storage import Buffer, View, fresh
from shardc.backend.numpy.kernels import extreme_kernel
from shardc.backend.python import group, idiom
from shardc.graph import ScatterDims
from shardc.layout import size_of
from shardc.ops import combiner, hlo, spmd
from shardc.semantics.indexing import NARROW, whole_windows

INDEX = 8
"""NumPy takes elements by 64-bit indices."""


@allocates(hlo.optimization_barrier, idiom.same, spmd.assume_equal, spmd.to_partial, spmd.vary)
def operand(it: Evaluation) -> Allocation:
    return Allocation(it.operands[0])


def with_copy(it: Evaluation) -> Allocation:
    """A function that needs one more array like its result."""
    return Allocation(array(it).view, it.nbytes)


@allocates(hlo.reshape)
def reshape(it: Evaluation) -> Allocation:
    """A view, of a copy where the dimensions don't lie so in memory."""
    view = it.operands[0].reshaped(it.shape)
    return Allocation(replace(row_major(it).view, owns=False) if view is None else view)


@allocates(hlo.transpose)
def transpose(it: Evaluation) -> Allocation:
    return Allocation(it.operands[0].transposed(it.ints("permutation")))


@allocates(hlo.broadcast_in_dim, broadcasts=True)
def broadcast(it: Evaluation) -> Allocation:
    """The operand, of the same elements in `it.shape`, whose new dimensions have size 1."""
    value, places = it.operands[0], it.ints("broadcast_dimensions")
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = value.transposed(order) if order != sorted(order) else value
    return Allocation(moved.reshaped(it.shape) or moved)


@allocates(hlo.slice_)
def slice_(it: Evaluation) -> Allocation:
    return Allocation(it.operands[0].sliced(it.shape, it.ints("strides")))


@allocates(hlo.dynamic_slice, spmd.all_slice)
def part(it: Evaluation) -> Allocation:
    """dynamic_slice, and this device's block: a view of a part."""
    value = it.operands[0]
    return Allocation(value.sliced(it.shape, (1,) * len(it.shape)))


@allocates(idiom.layer)
def layer(it: Evaluation) -> Allocation:
    """ws[i], x[:, i]"""
    value, axis = it.operands[0], cast(int, it.node.attrs["axis"])
    shape, strides = ((*of[:axis], *of[axis + 1 :]) for of in (value.shape, value.strides))
    return Allocation(View(value.buffer, shape, strides))


@allocates(hlo.reduce)
def reduce(it: Evaluation) -> Allocation:
    """A combination without a name of its own goes through the elements in pairs, then pairs of pairs."""
    if len(it.node.results) == 1:
        return row_major(it)
    if extreme_kernel(it.graph, it.node) is not None:
        return _with_place(it)
    types = [it.graph.type(value) for value in it.node.operands[: len(it.node.results)]]
    halves = sum(type.nbytes for type in types) * 3 // 4
    return Allocation(row_major(it).view, halves + 3 * min(BUFFER, types[0].size) * types[0].numpy.itemsize)


def _with_place(it: Evaluation) -> Allocation:
    """The index of the greatest; then which are equal to it, unless places are the same in all lines; and for
    each result some arrays more."""
    values, places = (it.graph.type(value) for value in it.node.operands[:2])
    (axis,) = it.ints("dimensions")
    kept = values.size // max(1, values.shape[axis])
    copy = _copied_for(it.operands[0], axis) * values.numpy.itemsize
    each = values.numpy.itemsize + places.numpy.itemsize
    steps = it.operands[1].strides
    equal = values.size if any(step for dim, step in enumerate(steps) if dim != axis) else 0
    return Allocation(row_major(it).view, INDEX * kept + max(copy, equal + each * kept))


@allocates(idiom.argmax, idiom.argmin)
def argmax(it: Evaluation) -> Allocation:
    """NumPy finds i64."""
    copy = _copied_for(it.operands[0], cast(int, it.node.attrs["axis"]))
    itemsize = it.graph.type(it.node.operands[0]).numpy.itemsize
    return Allocation(row_major(it).view, INDEX * prod(it.shape) + copy * itemsize)


def _copied_for(value: View, axis: int) -> int:
    """Elements of a copy in which a dimension is the last, and all lie row after row; none if they do."""
    others = [dim for dim in range(len(value.shape)) if dim != axis]
    moved = value.transposed([*others, axis])
    wanted = fresh(None, moved.shape).strides
    rows = zip(moved.shape, moved.strides, wanted, strict=True)
    return 0 if all(size == 1 or own == row for size, own, row in rows) else prod(value.shape)


@allocates(idiom.take)
def take(it: Evaluation) -> Allocation:
    return Allocation(row_major(it).view, INDEX * it.elements(1))


@allocates(hlo.gather)
def gather(it: Evaluation) -> Allocation:
    """The indices, as i64, clipped, and added up."""
    return Allocation(row_major(it).view, 3 * INDEX * it.elements(1))


@allocates(hlo.scatter)
def scatter(it: Evaluation) -> Allocation:
    """For every row of updates its place, of which there are several while it is computed; then, of the rows
    that go to different places, what is there, what comes, and both combined."""
    dims = cast(ScatterDims, it.node.attrs["scatter_dimension_numbers"])
    updates, operand = (it.graph.type(it.node.operands[i]) for i in (-1, 0))
    whole = whole_windows(operand.shape, updates.shape, dims)
    width = prod(operand.shape[dim] for dim in whole)
    rows = updates.size // max(1, width)
    kind = combiner(it.node.regions[0], it.graph)
    if kind == "set":
        combining = 0
    elif width < NARROW:
        combining = INDEX * updates.size * (width > 1)
    else:
        together = updates.nbytes * width // max(1, operand.size) + 3 * min(updates.nbytes, operand.nbytes)
        combining = INDEX * rows + together
    return Allocation(row_major(it).view, max(5 * INDEX * rows - it.nbytes, 3 * INDEX * rows + combining))


@allocates(spmd.reduce_scatter)
def reduce_scatter(it: Evaluation) -> Allocation:
    """By max and min, a block of the whole."""
    if it.node.attrs.get("kind", "sum") == "sum":
        return row_major(it)
    whole = it.nbytes * size_of(axes_of(it.node))
    return Allocation(fresh(Buffer(whole), it.shape))


allocates(hlo.logistic, hlo.rsqrt, group.silu, broadcasts=True)(with_copy)
allocates(hlo.divide, broadcasts=True)(operator("/"))
allocates(hlo.concatenate, hlo.dynamic_update_slice, hlo.iota, hlo.pad)(row_major)
allocates(group.mean, idiom.keepdims, idiom.put_layer)(row_major)
allocates(
    spmd.all_reduce,
    spmd.all_gather,
    spmd.all_to_all,
    spmd.collective_broadcast,
    spmd.collective_permute,
    spmd.ragged_all_to_all,
)(row_major)


@allocates(hlo.reverse)
def reverse(it: Evaluation) -> Allocation:
    """A view."""
    return Allocation(it.operands[0])
