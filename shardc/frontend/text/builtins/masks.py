"""What a mask chooses, where the number is given: nonzero, flatnonzero, compress, extract.

Which elements a mask chooses is known when the program runs, so how many there may be is said: `size=`. Fewer
are followed by `fill_value`, and what is more is left out, as in jax.numpy.
"""

from __future__ import annotations

from math import prod

from shardc.frontend.text.builtins.elementwise import comparison, truth, where
from shardc.frontend.text.builtins.gathers import scatter_add, take
from shardc.frontend.text.builtins.operators import floor_divide, remainder
from shardc.frontend.text.builtins.reductions import axis_of, sum_
from shardc.frontend.text.builtins.running import cumsum
from shardc.frontend.text.builtins.shapes import slice_dim
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Operand, Tensor, shape_text
from shardc.graph.types import TensorType
from shardc.ops import hlo


def flatnonzero(e: Emitter, a: Tensor, size: int, fill_value: Operand = 0) -> Tensor:
    """The places of the first `size` elements of a, flattened, that are not zero (i32)."""
    with e.group("flatnonzero"):
        places, valid = _chosen(e, "flatnonzero", a, size)
        return where(e, valid, places, e.tensor(fill_value, "i32"))


def nonzero(e: Emitter, a: Tensor, size: int, fill_value: Operand = 0) -> tuple[Tensor, ...]:
    """The same places as a subscript of a: one vector of indices for each dimension."""
    if not a.rank:
        raise e.error(f"nonzero of a scalar, {a.type}")
    with e.group("nonzero"):
        places, valid = _chosen(e, "nonzero", a, size)
        fill = e.tensor(fill_value, "i32")
        found: list[Tensor] = []
        for dim, own in enumerate(a.shape):
            step = prod(a.shape[dim + 1 :])
            index = floor_divide(e, places, max(step, 1)) if step > 1 else places
            index = remainder(e, index, max(own, 1)) if dim else index
            found.append(where(e, valid, index, fill))
        return tuple(found)


def compress(
    e: Emitter, condition: Tensor, a: Tensor, axis: int | None = None, *, size: int, fill_value: Operand = 0
) -> Tensor:
    """The parts of a along an axis (None: of a flattened) for which the vector `condition` holds."""
    if condition.rank != 1:
        raise e.error(f"compress: condition is a vector, not {condition.type}", "extract(mask, x, size=…)")
    if axis is None:
        a, axis = e.reshape(a, (a.type.size,)), 0
    dim = axis_of(e, axis, a.rank)
    if condition.type.size > a.shape[dim]:
        raise e.error(f"compress: {condition.type.size} conditions for {a.shape[dim]} elements")
    with e.group("compress"):
        count = condition.type.size
        part = a if count == a.shape[dim] else slice_dim(e, a, dim, 0, count)
        return _taken(e, "compress", condition, part, dim, size, fill_value)


def extract(e: Emitter, condition: Tensor, arr: Tensor, *, size: int, fill_value: Operand = 0) -> Tensor:
    """The elements of arr for which the condition, of the same shape, holds: x[mask] of so many elements."""
    if condition.type.size != arr.type.size:
        shapes = shape_text(condition.shape), shape_text(arr.shape)
        raise e.error(f"extract: the condition has shape {shapes[0]}, and the array {shapes[1]}")
    with e.group("extract"):
        flat = e.reshape(arr, (arr.type.size,))
        return _taken(e, "extract", e.reshape(condition, flat.shape), flat, 0, size, fill_value)


def _taken(
    e: Emitter, name: str, condition: Tensor, x: Tensor, dim: int, size: int, fill_value: Operand
) -> Tensor:
    places, valid = _chosen(e, name, condition, size)
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    if not x.shape[dim]:
        return e.broadcast_to(e.tensor(fill_value, x.dtype), shape)
    found = take(e, x, places, dim)
    kept = e.broadcast_in_dim(valid, shape, (dim,))
    return where(e, kept, found, e.tensor(fill_value, x.dtype))


def _chosen(e: Emitter, name: str, a: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The first `size` places of what is not zero, and whether there are so many."""
    if size < 0:
        raise e.error(f"{name}: size is {size}")
    count = a.type.size
    mask = truth(e, e.reshape(a, (count,)))
    numbers = TensorType((size,), "i32")
    places = e.op(hlo.iota.name, result=TensorType((count,), "i32"), iota_dimension=0)
    before = cumsum(e, mask, 0)
    slots = where(e, mask, e.op(hlo.subtract.name, before, e.splat(1, before.type)), size)
    # each slot is written once, and what has none is dropped
    found = scatter_add(e, e.splat(0, numbers), slots, places)
    row = e.op(hlo.iota.name, result=numbers, iota_dimension=0)
    total = e.broadcast_to(sum_(e, mask, None, False), (size,))
    return found, comparison(e, row, total, "LT")
