"""Operators that only move elements."""

from __future__ import annotations

from math import prod

import numpy as np

from shardc.frontend.onnx.errors import Dynamic, Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import (
    add,
    axes,
    axis,
    choose,
    compare,
    concat,
    iota,
    pad,
    slice_,
    transpose,
)
from shardc.frontend.text.builtins.shapes import repeat
from shardc.frontend.text.values import Tensor
from shardc.ops import hlo


def _reshape(n: Node) -> Tensor:
    """0 keeps a size (unless allowzero), -1 is worked out."""
    x = n.x(0)
    given = n.ints("shape") if n.version < 5 else _stated(n, 1)
    keep = not n.int("allowzero")
    shape = [x.shape[i] if size == 0 and keep and i < x.rank else size for i, size in enumerate(given or ())]
    if shape.count(-1) > 1 or any(size < -1 for size in shape):
        raise Invalid(f"{shape} is no shape")
    if -1 in shape:
        rest = prod(size for size in shape if size != -1)
        shape[shape.index(-1)] = x.type.size // rest if rest else 0
    if prod(shape) != x.type.size:
        raise Invalid(f"{x.type} cannot be reshaped to {shape}")
    return n.e.reshape(x, tuple(shape))


def _stated(n: Node, index: int) -> tuple[int, ...]:
    """A shape that is given as a value, or that the model states for the result."""
    try:
        return n.numbers(index)
    except Dynamic:
        declared = n.declared[0]
        if declared is None or 0 in declared.shape:
            raise
        return declared.shape


def _transpose(n: Node) -> Tensor:
    x = n.x(0)
    order = n.ints("perm")
    if order is None:
        order = tuple(reversed(range(x.rank)))
    order = tuple(axis(one, x.rank) for one in order)
    if sorted(order) != list(range(x.rank)):
        raise Invalid(f"perm {list(order)} does not name each axis once")
    return transpose(n.e, x, order)


def _flatten(n: Node) -> Tensor:
    x = n.x(0)
    at = n.int("axis", 1)
    at = at + x.rank if at < 0 else at
    return n.e.reshape(x, (prod(x.shape[:at]), prod(x.shape[at:])))


def _listed_axes(n: Node) -> tuple[int, ...] | None:
    """Axes: an attribute, from opset 13 on an input."""
    given = n.ints("axes")
    return n.numbers(1) if given is None and n.has(1) else given


def _squeeze(n: Node) -> Tensor:
    x = n.x(0)
    given = _listed_axes(n)
    dims = [i for i, size in enumerate(x.shape) if size == 1] if given is None else axes(given, x.rank)
    if any(x.shape[dim] != 1 for dim in dims):
        raise Invalid(f"axes {list(dims)} of {x.type} are not all of size 1")
    return n.e.reshape(x, tuple(size for i, size in enumerate(x.shape) if i not in dims))


def _unsqueeze(n: Node) -> Tensor:
    x, given = n.x(0), _listed_axes(n) or ()
    rank = x.rank + len(given)
    dims = axes(given, rank)
    sizes = iter(x.shape)
    return n.e.reshape(x, tuple(1 if i in dims else next(sizes) for i in range(rank)))


def _expand(n: Node) -> Tensor:
    x, shape = n.x(0), _stated(n, 1)
    return n.e.broadcast_to(x, n.e.broadcast_shape(x.shape, shape))


def _tile(n: Node) -> Tensor:
    return repeat(n.e, n.x(0), n.numbers(1))


def _concat(n: Node) -> Tensor:
    tensors = n.xs()
    return concat(n.e, tensors, axis(n.int("axis"), tensors[0].rank))


def _split(n: Node) -> list[Tensor]:
    """Sizes from an attribute or an input; else equal parts, the last one shorter."""
    x = n.x(0)
    dim = axis(n.int("axis"), x.rank)
    sizes = n.ints("split")
    if sizes is None and n.has(1):
        sizes = n.numbers(1)
    if sizes is None:
        count = n.int("num_outputs") or len(n.outputs)
        part = -(-x.shape[dim] // count)
        sizes = tuple(min(part, x.shape[dim] - i * part) for i in range(n.parts(count)))
    if sum(sizes) != x.shape[dim] or min(sizes, default=0) < 0:
        raise Invalid(f"parts {list(sizes)} of axis {dim} of {x.type}")
    ends = np.cumsum((0, *sizes)).tolist()
    return [slice_(n.e, x, dim, ends[i], ends[i + 1]) for i in range(len(sizes))]


def _slice(n: Node) -> Tensor:
    x = n.x(0)
    if n.version < 10:
        starts, ends = n.ints("starts") or (), n.ints("ends") or ()
        dims, steps = n.ints("axes"), None
    else:
        starts, ends = n.numbers(1), n.numbers(2)
        dims = n.numbers(3) if n.has(3) else None
        steps = n.numbers(4) if n.has(4) else None
    dims = tuple(range(len(starts))) if dims is None else dims
    cuts = {axis(dim, x.rank): i for i, dim in enumerate(dims)}
    for dim, i in cuts.items():
        x = _cut(n, x, dim, starts[i], ends[i], 1 if steps is None else steps[i])
    return x


def _cut(n: Node, x: Tensor, dim: int, start: int, end: int, step: int) -> Tensor:
    """Bounds count from the end where negative, and are clamped."""
    if step == 0:
        raise Invalid("a slice with step 0")
    size = x.shape[dim]
    if step < 0 and end < -size:
        places = range(size)[start::step]
    else:
        places = range(size)[start:end:step]
    if not places:
        return slice_(n.e, x, dim, 0, 0)
    if step > 0:
        return slice_(n.e, x, dim, places[0], places[-1] + 1, step)
    part = slice_(n.e, x, dim, places[-1], places[0] + 1, -step)
    return n.e.op(hlo.reverse.name, part, dimensions=(dim,)) if len(places) > 1 else part


def _depth_to_space(n: Node) -> Tensor:
    x, block = n.x(0), n.int("blocksize")
    batch, channels, height, width = x.shape
    if n.text("mode", "DCR") == "CRD":
        shape = (batch, channels // block**2, block, block, height, width)
        order = (0, 1, 4, 2, 5, 3)
    else:
        shape = (batch, block, block, channels // block**2, height, width)
        order = (0, 3, 4, 1, 5, 2)
    parts = transpose(n.e, n.e.reshape(x, shape), order)
    return n.e.reshape(parts, (batch, channels // block**2, height * block, width * block))


def _space_to_depth(n: Node) -> Tensor:
    x, block = n.x(0), n.int("blocksize")
    batch, channels, height, width = x.shape
    parts = n.e.reshape(x, (batch, channels, height // block, block, width // block, block))
    if n.text("mode", "DCR") == "CRD":
        order = (0, 1, 3, 5, 2, 4)
    else:
        order = (0, 3, 5, 1, 2, 4)
    moved = transpose(n.e, parts, order)
    return n.e.reshape(moved, (batch, channels * block**2, height // block, width // block))


def _trilu(n: Node) -> Tensor:
    """The upper or lower triangle of the last two axes, k diagonals away from the main one."""
    e, x = n.e, n.x(0)
    square = x.shape[-2:]
    fixed = n.value(1).array if n.has(1) else np.zeros(())
    rows, columns = (iota(e, square, dim, "i64" if fixed is None else "i32") for dim in (0, 1))
    if fixed is None:
        edge = add(e, rows, e.reshape(n.x(1), ()))
    else:
        diagonals = min(max(int(fixed.reshape(-1)[0]), -square[0]), square[1])
        edge = add(e, rows, diagonals) if diagonals else rows
    kept = compare(e, "GE" if n.int("upper", 1) else "LE", columns, edge)
    return choose(e, e.broadcast_to(kept, x.shape), x, e.splat(0, x.type))


def _center_crop_pad(n: Node) -> Tensor:
    """Each axis cut or filled with zeros on both sides, the smaller half first."""
    x = n.x(0)
    sizes = n.numbers(1)
    dims = [axis(dim, x.rank) for dim in n.ints("axes") or range(x.rank)]
    low, high = [0] * x.rank, [0] * x.rank
    for dim, size in zip(dims, sizes, strict=True):
        more = size - x.shape[dim]
        low[dim] = more // 2 if more > 0 else -(-more // 2)
        high[dim] = more - low[dim]
    return pad(n.e, x, 0, low, high)


def _reverse_sequence(n: Node) -> Tensor:
    """The first lens[i] elements along the time axis of batch i in reverse order."""
    from shardc.frontend.text.builtins.gathers import take_along_axis

    e, x = n.e, n.x(0)
    time, batch = n.int("time_axis", 0), n.int("batch_axis", 1)
    place = iota(e, x.shape, time, "i64")
    lens = e.broadcast_in_dim(e.cast(n.x(1), "i64"), x.shape, (batch,))
    turned = add(e, e.op(hlo.subtract.name, lens, place), -1)
    places = choose(e, compare(e, "LT", place, lens), turned, place)
    return take_along_axis(e, x, places, time)


OPERATORS: dict[str, Lower] = {
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Expand": _expand,
    "Tile": _tile,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Trilu": _trilu,
    "CenterCropPad": _center_crop_pad,
    "ReverseSequence": _reverse_sequence,
}
