"""sort, argsort, top_k, cumsum."""

from __future__ import annotations

from math import nan

from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.builtins.reductions import axis_of, combiner
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType, is_float
from shardc.ops import chlo, hlo


def sort(e: Emitter, x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Ascending and stable; NaN last."""
    (result,) = _sort(e, "sort", [x], axis_of(e, axis, x.rank), descending)
    return result


def argsort(e: Emitter, x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """The indices (i32) that sort x."""
    dim = axis_of(e, axis, x.rank)
    with e.group("argsort"):
        index = e.op(hlo.iota.name, result=x.type.with_dtype("i32"), iota_dimension=dim)
        return _sort(e, "argsort", [x, index], dim, descending)[1]


def _sort(e: Emitter, name: str, tensors: list[Tensor], dim: int, descending: bool) -> list[Tensor]:
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
    result = x.type.with_shape((*x.shape[:-1], k))
    return tuple(e.ops(chlo.top_k.name, x, results=[result, result.with_dtype("i32")], k=k, weak=False))


def cumsum(e: Emitter, x: Tensor, axis: int | None = None) -> Tensor:
    """Running sums along an axis (None: of x flattened); bool counts in i32."""
    if axis is None:
        x, axis = e.reshape(x, (x.type.size,)), 0
    dim = axis_of(e, axis, x.rank)
    if x.shape[dim] == 0:
        return x
    with e.group("cumsum"):
        x = e.cast(x, "i32") if x.dtype == "bool" else x
        ones = (1,) * x.rank
        (result,) = e.ops(
            hlo.reduce_window.name,
            x,
            e.splat(0, TensorType((), x.dtype)),
            regions=[combiner(e, hlo.add.name, x.dtype)],
            weak=x.weak,
            window_dimensions=tuple(size if i == dim else 1 for i, size in enumerate(x.shape)),
            window_strides=ones,
            base_dilations=ones,
            window_dilations=ones,
            padding=tuple((size - 1, 0) if i == dim else (0, 0) for i, size in enumerate(x.shape)),
        )
    return result
