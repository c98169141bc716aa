"""More of NumPy's ways to lay out and join: moveaxis, hstack, rot90, diag, tri, …"""

from __future__ import annotations

from shardc.frontend.text.builtins.diagonals import diagonal
from shardc.frontend.text.builtins.elementwise import where
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.padding import pad
from shardc.frontend.text.builtins.reductions import axis_of
from shardc.frontend.text.builtins.shapes import (
    concatenate,
    expand_dims,
    flip,
    ravel,
    swapaxes,
    transpose,
)
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dtype, Operand, Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo


def moveaxis(
    e: Emitter, x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...]
) -> Tensor:
    """Dimensions at other places; the others keep their order."""
    taken = [axis_of(e, one, x.rank) for one in (source if isinstance(source, tuple) else (source,))]
    given = destination if isinstance(destination, tuple) else (destination,)
    places = [axis_of(e, one, x.rank) for one in given]
    if len(taken) != len(places):
        raise e.error(f"moveaxis of {len(taken)} dimensions to {len(places)} places")
    order = [dim for dim in range(x.rank) if dim not in taken]
    for place, dim in sorted(zip(places, taken, strict=True)):
        order.insert(place, dim)
    return transpose(e, x, tuple(order))


def matrix_transpose(e: Emitter, x: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    return swapaxes(e, x, -1, -2)


def atleast_1d(e: Emitter, x: Operand) -> Tensor:
    tensor = e.tensor(x)
    return tensor if tensor.rank else e.reshape(tensor, (1,))


def atleast_2d(e: Emitter, x: Operand) -> Tensor:
    tensor = atleast_1d(e, x)
    return tensor if tensor.rank > 1 else e.reshape(tensor, (1, *tensor.shape))


def hstack(e: Emitter, tup: tuple[Operand, ...]) -> Tensor:
    """Joined along the second dimension, vectors along their only one."""
    tensors = tuple(atleast_1d(e, one) for one in tup)
    return concatenate(e, tensors, 0 if all(one.rank == 1 for one in tensors) else 1)


def vstack(e: Emitter, tup: tuple[Operand, ...]) -> Tensor:
    """Joined as rows."""
    return concatenate(e, tuple(atleast_2d(e, one) for one in tup), 0)


def dstack(e: Emitter, tup: tuple[Operand, ...]) -> Tensor:
    """Joined along a third dimension."""
    tensors = (atleast_2d(e, one) for one in tup)
    return concatenate(e, tuple(one if one.rank > 2 else expand_dims(e, one, 2) for one in tensors), 2)


def column_stack(e: Emitter, tup: tuple[Operand, ...]) -> Tensor:
    """Vectors as columns, and matrices, side by side."""
    tensors = (atleast_1d(e, one) for one in tup)
    return concatenate(e, tuple(expand_dims(e, one, 1) if one.rank == 1 else one for one in tensors), 1)


def append(e: Emitter, arr: Tensor, values: Operand, axis: int | None = None) -> Tensor:
    """arr with values behind it, flattened if axis is None."""
    more = e.tensor(values)
    if axis is None:
        return concatenate(e, (ravel(e, arr), ravel(e, more)), 0)
    return concatenate(e, (arr, more), axis)


def flipud(e: Emitter, x: Tensor) -> Tensor:
    return flip(e, x, 0)


def fliplr(e: Emitter, x: Tensor) -> Tensor:
    return flip(e, x, 1)


def rot90(e: Emitter, x: Tensor, k: int = 1, axes: tuple[int, ...] = (0, 1)) -> Tensor:
    """Turned k times from the first axis towards the second."""
    first, second = (axis_of(e, one, x.rank) for one in axes)
    if k % 4 == 2:
        return flip(e, x, (first, second))
    if k % 4 == 1:
        return swapaxes(e, flip(e, x, second), first, second)
    return flip(e, swapaxes(e, x, first, second), second) if k % 4 else x


def diag(e: Emitter, v: Tensor, k: int = 0) -> Tensor:
    """The matrix with that diagonal, or the diagonal of a matrix."""
    if v.rank == 2:
        return diagonal(e, v, k)
    if v.rank != 1:
        raise e.error(f"diag of {v.type}", "it takes a vector or a matrix")
    size = v.shape[0] + abs(k)
    row = pad(e, v, ((max(k, 0), max(-k, 0)),))
    type = TensorType((size, size), "i32")
    places = (e.op(hlo.iota.name, result=type, iota_dimension=dim) for dim in (0, 1))
    rows, columns = (Formula(e, one) for one in places)
    chosen = (columns - rows).compare("==", k)
    across = e.broadcast_in_dim(row, type.shape, (1,))
    return where(e, chosen.x, across, 0)


def tri(e: Emitter, N: int, M: int | None = None, k: int = 0, dtype: Dtype | None = None) -> Tensor:
    """Ones at and below a diagonal."""
    type = TensorType((N, N if M is None else M), "i32")
    rows, columns = (Formula(e, e.op(hlo.iota.name, result=type, iota_dimension=dim)) for dim in (0, 1))
    return e.cast((rows + k).compare(">=", columns).tensor, dtype.name if dtype else "f32")


def broadcast_arrays(e: Emitter, *args: Operand) -> tuple[Tensor, ...]:
    """All in one shape."""
    tensors = [e.tensor(one) for one in args]
    shape = e.broadcast_shape(*(one.shape for one in tensors))
    return tuple(e.broadcast_to(one, shape) for one in tensors)
