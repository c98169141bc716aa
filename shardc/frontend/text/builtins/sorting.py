"""sort, argsort, top_k, searchsorted."""

from __future__ import annotations

from math import nan

from shardc.frontend.text.builtins.elementwise import comparison, no_order
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.builtins.reductions import axis_of, sum_
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Operand, Tensor
from shardc.graph.types import TensorType, is_complex, is_float
from shardc.ops import chlo, hlo


def sort(e: Emitter, x: Tensor, axis: int | None = -1, descending: bool = False) -> Tensor:
    """Ascending and stable; NaN last. axis=None sorts x flattened."""
    if axis is None:
        x, axis = e.reshape(x, (x.type.size,)), 0
    (result,) = sort_by(e, "sort", [x], axis_of(e, axis, x.rank), descending)
    return result


def argsort(e: Emitter, x: Tensor, axis: int | None = -1, descending: bool = False) -> Tensor:
    """The indices (i32) that sort x."""
    if axis is None:
        x, axis = e.reshape(x, (x.type.size,)), 0
    dim = axis_of(e, axis, x.rank)
    with e.group("argsort"):
        index = e.op(hlo.iota.name, result=x.type.with_dtype("i32"), iota_dimension=dim)
        return sort_by(e, "argsort", [x, index], dim, descending)[1]


def sort_by(e: Emitter, name: str, tensors: list[Tensor], dim: int, descending: bool = False) -> list[Tensor]:
    """Sort by the first tensor."""
    types = [TensorType((), tensor.dtype) for tensor in tensors for _ in range(2)]

    def before(a: Tensor, b: Tensor, *_: Tensor) -> list[Tensor]:
        left, right = _canonical(e, a), _canonical(e, b)
        if descending:
            left, right = right, left
        return [comparison(e, left, right, "LT", total=True)]

    with e.group(name):
        return e.ops(hlo.sort.name, *tensors, regions=[(types, before)], dimension=dim, is_stable=True)


def _canonical(e: Emitter, x: Tensor) -> Tensor:
    """-0 as 0 and every NaN as the positive one, so that the total order is NumPy's."""
    if not is_float(x.dtype):
        return x
    zero = e.splat(0.0, x.type)
    x = e.op(hlo.select.name, comparison(e, x, zero, "EQ"), zero, x)
    return e.op(hlo.select.name, comparison(e, x, x, "NE"), e.splat(nan, x.type), x)


def top_k(e: Emitter, x: Tensor, k: int) -> tuple[Tensor, ...]:
    """The k largest elements along the last dimension, largest first, and their indices (i32)."""
    if x.rank == 0 or not 0 <= k <= x.shape[-1]:
        raise e.error(f"top_k of {k} elements from {x.type}")
    if is_complex(x.dtype):
        raise no_order(e, x)
    result = x.type.with_shape((*x.shape[:-1], k))
    return tuple(e.ops(chlo.top_k.name, x, results=[result, result.with_dtype("i32")], k=k, weak=False))


def searchsorted(
    e: Emitter, a: Tensor, v: Operand, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """How many elements of the sorted vector a lie before v (i32); side="right" counts those equal to it too.

    With `sorter`, indices, a[sorter] is the vector. v may have any shape, which is that of the result. Each v
    is compared with all of a, so that a may be split: every device counts in its block.
    """
    if a.rank != 1:
        raise e.error(f"searchsorted looks into a vector, not {a.type}")
    if side not in ("left", "right"):
        raise e.error(f'side is "left" or "right", not "{side}"')
    if sorter is not None:
        a = take(e, a, sorter)
    with e.group("searchsorted"):
        value = e.tensor(v)
        column, row = e.together(e.reshape(value, (*value.shape, 1)), a)
        column, row = _canonical(e, column), _canonical(e, row)
        before = comparison(e, row, column, "LT" if side == "left" else "LE", total=True)
        return sum_(e, before, -1, False)
