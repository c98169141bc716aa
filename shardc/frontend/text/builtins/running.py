"""Running combinations along an axis, and differences: cumsum, cumprod, cummax, cummin, diff."""

from __future__ import annotations

from collections.abc import Callable

from shardc.frontend.text.builtins.elementwise import comparison, no_order
from shardc.frontend.text.builtins.reductions import axis_of, combined_by, combiner, identity
from shardc.frontend.text.builtins.shapes import slice_dim
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType, is_complex
from shardc.ops import hlo


def _totals(name: str, kind: str) -> Callable[[Emitter, Tensor, int | None], Tensor]:
    """cumsum and cumprod: along an axis (None: of x flattened); bool counts in i32."""

    def lower(e: Emitter, x: Tensor, axis: int | None = None) -> Tensor:
        if axis is None:
            x, axis = e.reshape(x, (x.type.size,)), 0
        with e.group(name):
            return _running(e, kind, e.cast(x, "i32") if x.dtype == "bool" else x, axis)

    return lower


def _extremes(name: str, kind: str) -> Callable[[Emitter, Tensor, int], Tensor]:
    """jax.lax.cummax and cummin."""

    def lower(e: Emitter, x: Tensor, axis: int = 0) -> Tensor:
        if is_complex(x.dtype):
            raise no_order(e, x)
        with e.group(name):
            return _running(e, kind, x, axis)

    return lower


cumsum, cumprod = _totals("cumsum", "sum"), _totals("cumprod", "prod")
cummax, cummin = _extremes("cummax", "max"), _extremes("cummin", "min")


def _running(e: Emitter, kind: str, x: Tensor, axis: int) -> Tensor:
    """Each element combined with those before it: one stablehlo.reduce_window."""
    dim = axis_of(e, axis, x.rank)
    if x.shape[dim] == 0:
        return x
    ones = (1,) * x.rank
    (result,) = e.ops(
        hlo.reduce_window.name,
        x,
        e.splat(identity(kind, x.dtype), TensorType((), x.dtype)),
        regions=[combiner(e, combined_by(kind), x.dtype)],
        weak=x.weak,
        window_dimensions=tuple(size if i == dim else 1 for i, size in enumerate(x.shape)),
        window_strides=ones,
        base_dilations=ones,
        window_dilations=ones,
        padding=tuple((size - 1, 0) if i == dim else (0, 0) for i, size in enumerate(x.shape)),
    )
    return result


def diff(e: Emitter, x: Tensor, n: int = 1, axis: int = -1) -> Tensor:
    """The difference of each element from the one before, n times; of bools, whether they differ."""
    dim = axis_of(e, axis, x.rank)
    if n < 0:
        raise e.error(f"diff {n} times")
    with e.group("diff"):
        for _ in range(min(n, x.shape[dim])):
            size = x.shape[dim]
            last, first = slice_dim(e, x, dim, min(1, size), size), slice_dim(e, x, dim, 0, max(0, size - 1))
            if x.dtype == "bool":
                x = comparison(e, last, first, "NE")
            else:
                x = e.op(hlo.subtract.name, last, first)
    return x
