"""Functions that only move elements: reshape, transpose, broadcasting, joining, shifting."""

from __future__ import annotations

from itertools import chain, pairwise
from math import prod

from shardc.frontend.text.builtins.reductions import axes_of, axis_of
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.turns import MAX_ITEMS
from shardc.frontend.text.values import Dims, Operand, Tensor, shape_text
from shardc.graph.types import TensorType
from shardc.ops import hlo


def reshape(e: Emitter, x: Tensor, shape: tuple[int, ...], *sizes: tuple[int, ...]) -> Tensor:
    """The same elements, row-major; one size may be -1 and is worked out. Sizes may stand one by one."""
    return e.reshape(x, filled_in(e, x, (*shape, *chain.from_iterable(sizes))))


def filled_in(e: Emitter, x: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with its -1 replaced."""
    if shape.count(-1) > 1 or any(size < -1 for size in shape):
        raise e.error(f"{shape_text(shape)} is no shape", "one size may be -1, the others are at least 0")
    if -1 in shape:
        rest = prod(size for size in shape if size != -1)
        if rest and x.type.size % rest == 0:
            return tuple(x.type.size // rest if size == -1 else size for size in shape)
    elif prod(shape) == x.type.size:
        return shape
    raise e.error(f"{x.type} has {x.type.size} elements and cannot be reshaped to {shape_text(shape)}")


def ravel(e: Emitter, x: Tensor) -> Tensor:
    return e.reshape(x, (x.type.size,))


def transpose(e: Emitter, x: Tensor, axes: tuple[int, ...] | None = None) -> Tensor:
    """Dimensions in another order, by default reversed."""
    order = tuple(reversed(range(x.rank))) if axes is None else tuple(axis_of(e, a, x.rank) for a in axes)
    if sorted(order) != list(range(x.rank)):
        raise e.error(f"axes {axes} do not name each of the {x.rank} dimensions of {x.type} once")
    if order == tuple(range(x.rank)):
        return x
    return e.op(hlo.transpose.name, x, permutation=order)


def swapaxes(e: Emitter, x: Tensor, axis1: int, axis2: int) -> Tensor:
    order = list(range(x.rank))
    first, second = axis_of(e, axis1, x.rank), axis_of(e, axis2, x.rank)
    order[first], order[second] = order[second], order[first]
    return transpose(e, x, tuple(order))


def broadcast_to(e: Emitter, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return e.broadcast_to(x, shape)


def expand(e: Emitter, x: Tensor, *size: tuple[int, ...]) -> Tensor:
    """OneFlow's expand: sizes of the result; -1 keeps a size; new dimensions stand in front."""
    sizes = tuple(chain.from_iterable(size))
    added = len(sizes) - x.rank
    wrong = f"expand of {x.type} to {shape_text(sizes)}"
    if added < 0:
        raise e.error(
            f"{wrong}: there is a size for each dimension",
            "-1 keeps a dimension, and new ones stand in front",
        )
    if any(size < 1 for size in sizes[:added]):
        raise e.error(
            f"{wrong}: a new dimension needs a size", "new dimensions stand in front, and -1 keeps one of x"
        )
    kept = tuple(old if new == -1 else new for old, new in zip(x.shape, sizes[added:], strict=True))
    for dim, (old, new) in enumerate(zip(x.shape, kept, strict=True)):
        if new < 1 and new != old:
            raise e.error(f"{wrong}: sizes are at least 1, or -1")
        if old not in (1, new):
            hint = f"{old} or -1 keeps it; repeat copies a dimension of any size"
            raise e.error(f"{wrong}: only a size of 1 can grow, and dimension {dim} has {old}", hint)
    return e.broadcast_to(x, sizes[:added] + kept)


def repeat(e: Emitter, x: Tensor, *counts: tuple[int, ...]) -> Tensor:
    """OneFlow's repeat: counts[i] copies along dimension i; new dimensions stand in front."""
    sizes = tuple(chain.from_iterable(counts))
    added = len(sizes) - x.rank
    if added < 0:
        counts_of_all = shape_text((1,) * -added + sizes)
        hint = f"a count for each, new ones in front: {counts_of_all}; NumPy's repeat is repeat_interleave"
        raise e.error(f"repeat by {shape_text(sizes)}: {x.type} has more dimensions", hint)
    if any(size < 0 for size in sizes):
        raise e.error(f"repeat by {shape_text(sizes)}: counts are at least 0")
    shape: list[int] = list(sizes[:added])
    dims: list[int] = []
    for size, count in zip(x.shape, sizes[added:], strict=True):
        if count != 1:
            shape.append(count)
        dims.append(len(shape))
        shape.append(size)
    final = (*sizes[:added], *(s * c for s, c in zip(x.shape, sizes[added:], strict=True)))
    with e.group("repeat"):
        spread = x if tuple(shape) == x.shape else e.broadcast_in_dim(x, tuple(shape), dims)
        return e.reshape(spread, final)


def tile(e: Emitter, x: Tensor, *reps: tuple[int, ...]) -> Tensor:
    """NumPy's tile: repeat, and without a count one copy."""
    counts = tuple(chain.from_iterable(reps))
    return repeat(e, x, (1,) * (x.rank - len(counts)) + counts)


def repeat_interleave(e: Emitter, x: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    """NumPy's repeat: each element so often, one after the other; without an axis of all elements."""
    if repeats < 0:
        raise e.error(f"repeat_interleave by {repeats}: counts are at least 0")
    flat = ravel(e, x) if axis is None else x
    dim = 0 if axis is None else axis_of(e, axis, x.rank)
    before, size, after = flat.shape[:dim], flat.shape[dim], flat.shape[dim + 1 :]
    dims = [*range(dim + 1), *range(dim + 2, flat.rank + 1)]
    spread = e.broadcast_in_dim(flat, (*before, size, repeats, *after), dims)
    return e.reshape(spread, (*before, size * repeats, *after))


def squeeze(e: Emitter, x: Tensor, axis: Dims = None) -> Tensor:
    """Drop dimensions of size 1."""
    dims = [i for i, size in enumerate(x.shape) if size == 1] if axis is None else axes_of(e, axis, x.rank)
    for dim in dims:
        if x.shape[dim] != 1:
            raise e.error(f"dimension {dim} of {x.type} has size {x.shape[dim]} and cannot be squeezed")
    return e.reshape(x, tuple(size for i, size in enumerate(x.shape) if i not in dims))


def expand_dims(e: Emitter, x: Tensor, axis: Dims) -> Tensor:
    """Add dimensions of size 1 at these places of the result."""
    count = 1 if isinstance(axis, int) else len(axis or ())
    dims = axes_of(e, axis if axis is not None else (), x.rank + count)
    sizes = iter(x.shape)
    return e.reshape(x, tuple(1 if i in dims else next(sizes) for i in range(x.rank + count)))


def concatenate(e: Emitter, arrays: tuple[Operand, ...], axis: int = 0) -> Tensor:
    tensors = _one_dtype(e, "concatenate", arrays)
    first = tensors[0]
    if first.rank == 0:
        raise e.error("scalars cannot be concatenated", "stack joins them")
    dim = axis_of(e, axis, first.rank)
    for tensor in tensors:
        if tensor.rank != first.rank or any(
            a != b for i, (a, b) in enumerate(zip(first.shape, tensor.shape, strict=True)) if i != dim
        ):
            raise e.error(
                f"shapes {shape_text(first.shape)} and {shape_text(tensor.shape)}"
                f" cannot be concatenated along axis {dim}"
            )
    if len(tensors) == 1:
        return first
    return e.op(hlo.concatenate.name, *tensors, dimension=dim)


def stack(e: Emitter, arrays: tuple[Operand, ...], axis: int = 0) -> Tensor:
    """Join along a new dimension."""
    tensors = _one_dtype(e, "stack", arrays)
    for tensor in tensors:
        if tensor.shape != tensors[0].shape:
            raise e.error(
                f"shapes {shape_text(tensors[0].shape)} and {shape_text(tensor.shape)} cannot be stacked"
            )
    dim = axis_of(e, axis, tensors[0].rank + 1)
    return concatenate(e, tuple(expand_dims(e, tensor, dim) for tensor in tensors), dim)


def _one_dtype(e: Emitter, name: str, arrays: tuple[Operand, ...]) -> list[Tensor]:
    if not arrays:
        raise e.error(f"{name} of nothing")
    tensors = [e.tensor(array) for array in arrays]
    dtype, weak = e.common(*tensors)
    return [e.cast(tensor, dtype, weak) for tensor in tensors]


def split(e: Emitter, x: Tensor, sections: int | tuple[int, ...], axis: int = 0) -> tuple[Tensor, ...]:
    """Equal parts, or parts between the given indices."""
    dim = axis_of(e, axis, x.rank)
    size = x.shape[dim]
    if isinstance(sections, int):
        if sections < 1 or size % sections:
            raise e.error(f"dimension {dim} of {x.type} has size {size} and cannot be split into {sections}")
        if sections > MAX_ITEMS:
            raise e.error(f"a list of more than {MAX_ITEMS:,} items")
        sections = tuple(size // sections * part for part in range(1, sections))
    bounds = [min(max(bound + size if bound < 0 else bound, 0), size) for bound in (0, *sections)] + [size]
    return tuple(slice_dim(e, x, dim, start, max(start, stop)) for start, stop in pairwise(bounds))


def slice_dim(e: Emitter, x: Tensor, dim: int, start: int, stop: int) -> Tensor:
    """x[start:stop] along one dimension."""
    starts = tuple(start if i == dim else 0 for i in range(x.rank))
    stops = tuple(stop if i == dim else size for i, size in enumerate(x.shape))
    return e.op(hlo.slice_.name, x, start_indices=starts, limit_indices=stops, strides=(1,) * x.rank)


def flip(e: Emitter, x: Tensor, axis: Dims = None) -> Tensor:
    dims = axes_of(e, axis, x.rank)
    return e.op(hlo.reverse.name, x, dimensions=dims) if dims else x


def roll(e: Emitter, x: Tensor, shift: int | tuple[int, ...], axis: Dims = None) -> Tensor:
    """Shift elements along axes, or in row-major order; what leaves at the end comes in at the start."""
    shifts = shift if isinstance(shift, tuple) else (shift,)
    if axis is None:
        return e.reshape(_rolled(e, ravel(e, x), sum(shifts), 0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise e.error(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    count = max(len(shifts), len(axes))
    every = zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True)
    for each, dim in every:
        x = _rolled(e, x, each, axis_of(e, dim, x.rank))
    return x


def _rolled(e: Emitter, x: Tensor, shift: int, dim: int) -> Tensor:
    size = x.shape[dim]
    shift = shift % size if size else 0
    if not shift:
        return x
    with e.group("roll"):
        end = slice_dim(e, x, dim, size - shift, size)
        return concatenate(e, (end, slice_dim(e, x, dim, 0, size - shift)), dim)


def tril(e: Emitter, x: Tensor, k: int = 0) -> Tensor:
    """Zero above the k-th diagonal of the last two dimensions."""
    return _triangle(e, "tril", x, k, True)


def triu(e: Emitter, x: Tensor, k: int = 0) -> Tensor:
    """Zero below the k-th diagonal."""
    return _triangle(e, "triu", x, k, False)


def _triangle(e: Emitter, name: str, x: Tensor, k: int, lower: bool) -> Tensor:
    if x.rank < 2:
        raise e.error(f"{name} takes a tensor of at least two dimensions, not {x.type}")
    with e.group(name):
        square = TensorType(x.shape[-2:], "i32")
        row = e.op(hlo.iota.name, result=square, iota_dimension=0)
        column = e.op(hlo.iota.name, result=square, iota_dimension=1)
        offset = k if lower else k - 1
        if offset:
            row = e.op(hlo.add.name, row, e.splat(offset, square))
        below = e.op(hlo.compare.name, row, column, comparison_direction="GE", compare_type="SIGNED")
        mask = e.broadcast_to(below, x.shape)
        zero = e.splat(0, x.type)
        return e.op(hlo.select.name, mask, *((x, zero) if lower else (zero, x)))
