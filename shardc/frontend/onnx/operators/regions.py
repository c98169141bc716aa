"""Operators that read images between their pixels: deformable convolution, and pooling of regions."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.convolution import biased
from shardc.frontend.onnx.operators.indexing import pixels
from shardc.frontend.onnx.operators.maths import (
    add,
    along,
    calc,
    choose,
    compare,
    div,
    iota,
    literal,
    mul,
    row,
    sub,
    transpose,
)
from shardc.frontend.onnx.operators.windows import padding
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.builtins.products import einsum
from shardc.frontend.text.builtins.reductions import identity, reduce
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.ops import hlo


def _deform_conv(n: Node) -> Tensor:
    """A convolution whose taps are moved by `offset`, read between pixels, and weighted by `mask`."""
    e, x, kernel = n.e, n.x(0), n.x(1)
    if x.rank != 4 or kernel.rank != 4:
        raise n.unsupported(f"of {x.type}: images of two dimensions")
    batch, channels, *sizes = x.shape
    outputs, _, *taps = kernel.shape
    groups, parts = n.int("group", 1), n.int("offset_group", 1)
    places = n.type(2).shape[2:]
    strides, dilations = n.ints("strides") or (1, 1), n.ints("dilations") or (1, 1)
    pads = padding(n, sizes, taps, strides)
    fits = groups > 0 and parts > 0 and not channels % parts and not outputs % groups
    if not fits or kernel.shape[1] * groups != channels or len(strides) != 2 or len(dilations) != 2:
        raise Invalid(
            f"a kernel {kernel.type} in {groups} groups and {parts} of offsets does not fit {x.type}"
        )
    reach = [(k - 1) * d + 1 for k, d in zip(taps, dilations, strict=True)]
    wanted = tuple((s + sum(p) - r) // t + 1 for s, p, r, t in zip(sizes, pads, reach, strides, strict=True))
    if places != wanted or n.type(2).size != batch * parts * prod(taps) * 2 * prod(places):
        raise Invalid(f"offsets {n.type(2)} for {list(taps)} taps at {list(wanted)} places")
    grid = (batch * parts, *taps, *places)
    offset = e.reshape(n.x(2), (*grid[:3], 2, *places))
    n.places(max(*places, *taps))
    ends: list[Tensor] = []
    for dim in range(2):
        first = np.arange(places[dim]) * strides[dim] - pads[dim][0]
        near = along(e, literal(e, first.astype(x.type.numpy)), 3 + dim, grid)
        far = along(
            e, literal(e, (np.arange(taps[dim]) * dilations[dim]).astype(x.type.numpy)), 1 + dim, grid
        )
        ends.append(add(e, add(e, near, far), row(e, offset, 3, dim)))
    images = e.reshape(x, (batch * parts, channels // parts, *sizes))
    read = _between(e, transpose(e, images, (0, 2, 3, 1)), ends)
    if n.has(4):
        read = mul(e, read, e.broadcast_in_dim(e.reshape(n.x(4), grid), read.shape, (0, 1, 2, 3, 4)))
    patches = transpose(e, e.reshape(read, (batch, parts, *read.shape[1:])), (0, 1, 6, 2, 3, 4, 5))
    patches = e.reshape(patches, (batch, groups, channels // groups, *taps, *places))
    weights = e.reshape(kernel, (groups, outputs // groups, *kernel.shape[1:]))
    result = e.reshape(einsum(e, "ngcklhw,gockl->ngohw", patches, weights), (batch, outputs, *places))
    return biased(e, result, n.x(3)) if n.has(3) else result


def _between(e: Emitter, x: Tensor, places: list[Tensor]) -> Tensor:
    """x[N, H, W, C] between pixels: the four around a place, weighted; 0 outside."""
    total: Tensor | None = None
    bases = [e.op(hlo.floor.name, place) for place in places]
    for corner in product((0, 1), repeat=2):
        weight: Tensor | None = None
        index: list[Tensor] = []
        for place, base, far, size in zip(places, bases, corner, x.shape[1:3], strict=True):
            at = add(e, base, far)
            rest = sub(e, place, base)
            factor = rest if far else sub(e, 1, rest)
            inside = e.op(hlo.and_.name, compare(e, "GE", at, 0), compare(e, "LE", at, size - 1))
            factor = choose(e, inside, factor, 0.0)
            index.append(e.cast(calc(e, hlo.clamp, 0, at, size - 1), "i32"))
            weight = factor if weight is None else mul(e, weight, factor)
        assert weight is not None
        values = pixels(e, x, index)
        term = mul(e, values, e.broadcast_in_dim(weight, values.shape, tuple(range(weight.rank))))
        total = term if total is None else add(e, total, term)
    assert total is not None
    return total


def _roi_align(n: Node) -> Tensor:
    """Every region in output_height x output_width bins; of each bin the mean or maximum of samples."""
    e, x, rois = n.e, n.x(0), n.x(1)
    if x.rank != 4 or rois.type.shape != (rois.shape[0], 4) or n.type(2).shape != rois.shape[:1]:
        raise Invalid(f"regions {rois.type} with images {n.type(2)} of {x.type}")
    count, channels = rois.shape[0], x.shape[1]
    bins = (n.int("output_height", 1), n.int("output_width", 1))
    samples = n.int("sampling_ratio")
    if min(bins) < 1 or samples < 0:
        raise Invalid(f"{bins[0]} x {bins[1]} bins of {samples} samples")
    if not samples:
        raise n.unsupported("with sampling_ratio 0, where the number of samples depends on the regions")
    n.places(max(bins) * samples)
    half = n.version >= 16 and n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    edges = sub(e, mul(e, rois, n.float("spatial_scale", 1.0)), 0.5 if half else 0.0)
    taps = [_samples(e, edges, dim, bins[dim], samples, x.shape[2 + dim], not half) for dim in range(2)]
    grid = (count, bins[0] * samples, bins[1] * samples)
    image = along(e, e.cast(n.x(2), "i32"), 0, grid)
    whole = e.reshape(transpose(e, x, (0, 2, 3, 1)), (1, *(x.shape[i] for i in (0, 2, 3)), channels))
    biggest = n.text("mode", "avg").lower() == "max"
    total: Tensor | None = None
    for (top, down), (left, across) in product(*taps):
        index = [image, e.broadcast_in_dim(top, grid, (0, 1)), e.broadcast_in_dim(left, grid, (0, 2))]
        values = pixels(e, whole, [e.reshape(place, (1, *grid)) for place in index])
        weight = mul(e, e.broadcast_in_dim(down, grid, (0, 1)), e.broadcast_in_dim(across, grid, (0, 2)))
        term = mul(e, values, e.broadcast_in_dim(weight, values.shape, (1, 2, 3)))
        if total is None:
            total = term
        else:
            total = calc(e, hlo.maximum, total, term) if biggest else add(e, total, term)
    assert total is not None
    split = e.reshape(total, (count, bins[0], samples, bins[1], samples, channels))
    pooled = reduce(e, "max" if biggest else "sum", split, (2, 4), False)
    pooled = pooled if biggest else div(e, pooled, float(samples * samples))
    return transpose(e, pooled, (0, 3, 1, 2))


def _samples(
    e: Emitter, edges: Tensor, dim: int, bins: int, samples: int, size: int, at_least_one: bool
) -> list[tuple[Tensor, Tensor]]:
    """The two pixels around each sample of all regions along an axis, and their weights: [regions, samples].

    `edges` are (left, top, right, bottom) per region. Weights are 0 more than a pixel outside the image.
    """
    first, last = row(e, edges, 1, 1 - dim), row(e, edges, 1, 3 - dim)
    span = sub(e, last, first)
    span = calc(e, hlo.maximum, span, 1) if at_least_one else span
    shape = (edges.shape[0], bins * samples)
    steps = (np.arange(bins * samples) + 0.5) / samples / bins
    steps = along(e, literal(e, steps.astype(edges.type.numpy)), 1, shape)
    place = add(e, along(e, first, 0, shape), mul(e, along(e, span, 0, shape), steps))
    near = e.op(hlo.and_.name, compare(e, "GE", place, -1), compare(e, "LE", place, size))
    place = calc(e, hlo.clamp, 0, place, size - 1)
    base = e.op(hlo.floor.name, place)
    rest = sub(e, place, base)
    low = e.cast(base, "i32")
    high = calc(e, hlo.minimum, add(e, low, 1), size - 1)
    return [(low, choose(e, near, sub(e, 1, rest), 0.0)), (high, choose(e, near, rest, 0.0))]


def _max_roi_pool(n: Node) -> Tensor:
    """The greatest element of each bin of every region; 0 where a bin lies outside the image.

    A region is (image, left, top, right, bottom), its ends rounded and both inside.
    """
    e, x, rois = n.e, n.x(0), n.x(1)
    bins = n.ints("pooled_shape") or ()
    if x.rank != 4 or rois.rank != 2 or rois.shape[1] != 5 or len(bins) != 2 or min(bins) < 1:
        raise Invalid(f"regions {rois.type} of {x.type} in {list(bins)} bins")
    found = take(e, x, e.cast(row(e, rois, 1, 0), "i32"), 0)
    lowest = identity("max", x.dtype)
    empty: Tensor | None = None
    for dim in range(2):
        mask, none = _bins(n, rois, dim, bins[dim], x.shape[2 + dim])
        shape = (*found.shape[: 2 + dim], bins[dim], *found.shape[2 + dim :])
        spread = e.broadcast_in_dim(found, shape, tuple(i for i in range(5) if i != 2 + dim))
        kept = choose(e, e.broadcast_in_dim(mask, shape, (0, 2 + dim, 3 + dim)), spread, lowest)
        found = reduce(e, "max", kept, (3 + dim,), False)
        none = e.broadcast_in_dim(none, (rois.shape[0], x.shape[1], *bins), (0, 2 + dim))
        empty = none if empty is None else e.op(hlo.or_.name, empty, none)
    assert empty is not None
    return choose(e, empty, 0.0, found)


def _bins(n: Node, rois: Tensor, dim: int, bins: int, size: int) -> tuple[Tensor, Tensor]:
    """Places in each bin, bool[regions, bins, size]; and which bins have none, bool[regions, bins]."""
    e = n.e
    ends = [mul(e, row(e, rois, 1, side - dim), n.float("spatial_scale", 1.0)) for side in (2, 4)]
    first, last = (e.op(hlo.round_nearest_afz.name, end) for end in ends)
    step = div(e, calc(e, hlo.maximum, add(e, sub(e, last, first), 1), 1), float(bins))
    shape = (rois.shape[0], bins)
    step, first = along(e, step, 0, shape), along(e, first, 0, shape)
    number = iota(e, shape, 1, rois.dtype)
    low = add(e, e.op(hlo.floor.name, mul(e, step, number)), first)
    high = add(e, e.op(hlo.ceil.name, mul(e, step, add(e, number, 1))), first)
    low, high = (calc(e, hlo.clamp, 0, end, size) for end in (low, high))
    place = iota(e, (*shape, size), 2, rois.dtype)
    after = compare(e, "GE", place, e.broadcast_in_dim(low, place.shape, (0, 1)))
    before = compare(e, "LT", place, e.broadcast_in_dim(high, place.shape, (0, 1)))
    return e.op(hlo.and_.name, after, before), compare(e, "GE", low, high)


OPERATORS: dict[str, Lower] = {
    "DeformConv": _deform_conv,
    "RoiAlign": _roi_align,
    "MaxRoiPool": _max_roi_pool,
}
