"""Counts, orders and moments of data: histogram, bincount, unique, quantile, median, cov, average."""

from __future__ import annotations

from math import ceil, floor, prod

from shardc.frontend.text.builtins.complex_numbers import conj, imag, real
from shardc.frontend.text.builtins.diagonals import diagonal
from shardc.frontend.text.builtins.elementwise import clip, isnan, where
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.gathers import scatter_add, take
from shardc.frontend.text.builtins.masks import flatnonzero
from shardc.frontend.text.builtins.products import matmul
from shardc.frontend.text.builtins.reductions import any_, axes_of, axis_of, max_, mean_over, min_, sum_
from shardc.frontend.text.builtins.running import cumsum, diff
from shardc.frontend.text.builtins.shapes import (
    concatenate,
    expand_dims,
    ravel,
    slice_dim,
    stack,
    swapaxes,
    transpose,
)
from shardc.frontend.text.builtins.sorting import argsort, searchsorted, sort
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dims, Operand, Tensor, Value, describe
from shardc.graph.types import TensorType, is_complex, is_integer
from shardc.ops import hlo


def histogram(
    e: Emitter,
    a: Tensor,
    bins: Value = 10,
    range: Value = None,
    weights: Operand | None = None,
    density: bool = False,
) -> tuple[Tensor, ...]:
    """How many elements are in each of `bins` (or between the edges `bins`), and their edges."""
    data = ravel(e, e.inexact(a))
    if isinstance(bins, bool) or not isinstance(bins, int | Tensor):
        raise e.error(f"histogram: bins is a number of bins, or their edges, not {describe(bins)}")
    edges = _edges(e, data, bins, range) if isinstance(bins, int) else e.cast(bins, data.dtype)
    if edges.rank != 1 or edges.shape[0] < 2:
        raise e.error(f"histogram: bins is a number of bins, or at least two edges, not {edges.type}")
    count = edges.shape[0]
    one = e.splat(1.0, data.type) if weights is None else ravel(e, e.broadcast_to(e.tensor(weights), a.shape))
    place = Formula(e, searchsorted(e, edges, data, "right"))
    last = Formula(e, data).compare("==", slice_dim(e, edges, 0, count - 1, count))
    place = Formula(e, count - 1).where(last, place)
    totals = scatter_add(e, e.splat(0, one.type.with_shape((count,))), place.tensor, one)
    found = Formula(e, slice_dim(e, totals, 0, 1, count))
    if density:
        found = found / diff(e, edges) / sum_(e, found.tensor, None, False)
    return found.tensor, edges


def _edges(e: Emitter, data: Tensor, bins: int, range: Value) -> Tensor:
    """bins + 1 numbers from the smallest element to the largest, or as `range` says."""
    if bins < 1:
        raise e.error(f"histogram of {bins} bins")
    if range is None:
        low, high = Formula(e, min_(e, data, None, False)), Formula(e, max_(e, data, None, False))
    elif isinstance(range, tuple) and len(range) == 2 and all(isinstance(one, Operand) for one in range):
        ends = [e.cast(e.tensor(one), data.dtype) for one in range if isinstance(one, Operand)]
        low, high = Formula(e, ends[0]), Formula(e, ends[1])
    else:
        raise e.error(f"histogram: range is (low, high), not {describe(range)}")
    flat = low.compare("==", high)
    low, high = (low - 0.5).where(flat, low), (high + 0.5).where(flat, high)
    type = TensorType((bins,), data.dtype)
    step = Formula(e, e.op(hlo.iota.name, result=type, iota_dimension=0)) / bins
    inner = low * (1 - step) + high * step
    return concatenate(e, (inner.tensor, e.reshape(high.tensor, (1,))))


def bincount(e: Emitter, x: Tensor, weights: Operand | None = None, *, length: int) -> Tensor:
    """How often each number below `length` occurs, or the sum of its weights. Negative ones count as 0."""
    if not is_integer(x.dtype):
        raise e.error(f"bincount takes integers, not {x.type}")
    if length < 0:
        raise e.error(f"bincount: length is {length}")
    one = e.tensor(1, "i32") if weights is None else e.tensor(weights)
    places = clip(e, ravel(e, x), 0, None)
    one = ravel(e, e.broadcast_to(one, x.shape))
    return scatter_add(e, e.splat(0, TensorType((length,), one.dtype)), places, one)


def digitize(e: Emitter, x: Operand, bins: Tensor, right: bool = False) -> Tensor:
    """The number of the bin that each x is in, of bins that go up or down."""
    if bins.rank != 1 or not bins.shape[0]:
        raise e.error(f"digitize: bins is a vector, not {bins.type}")
    count = bins.shape[0]
    up = searchsorted(e, bins, x, "left" if right else "right")
    turned = e.op(hlo.reverse.name, bins, dimensions=(0,))
    down = count - Formula(e, searchsorted(e, turned, x, "right" if right else "left"))
    ends = (e.reshape(slice_dim(e, bins, 0, i, i + 1), ()) for i in (count - 1, 0))
    last, first = (Formula(e, end) for end in ends)
    return Formula(e, up).where(last.compare(">=", first), down).tensor


def unique(
    e: Emitter,
    x: Tensor,
    *,
    size: int,
    fill_value: Operand | None = None,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """The first `size` different elements, ascending; fewer are followed by fill_value (the smallest)."""
    flat = ravel(e, x)
    if size < 0 or not flat.shape[0]:
        raise e.error(f"unique: {size} of {x.type}")
    order = argsort(e, flat) if return_inverse else None
    ordered = sort(e, flat) if order is None else take(e, flat, order)
    count = ordered.shape[0]
    before, after = slice_dim(e, ordered, 0, 0, count - 1), slice_dim(e, ordered, 0, 1, count)
    new = Formula(e, after).compare("!=", before)
    if not is_integer(x.dtype) and x.dtype != "bool":
        both = e.op(hlo.and_.name, isnan(e, after), isnan(e, before))
        new = Formula(e, e.op(hlo.and_.name, new.tensor, e.op(hlo.not_.name, both)))
    starts = concatenate(e, (e.splat(True, TensorType((1,), "bool")), new.tensor))
    number = Formula(e, cumsum(e, e.cast(starts, "i32"), 0)) - 1
    places = flatnonzero(e, starts, size, count)
    first = e.reshape(slice_dim(e, ordered, 0, 0, 1), ())
    fill = first if fill_value is None else e.tensor(fill_value, x.dtype)
    taken = take(e, ordered, clip(e, places, 0, count - 1))
    found = where(e, Formula(e, places).compare("<", count).x, taken, fill)
    results = [found]
    if order is not None:
        inverse = scatter_add(e, e.splat(0, number.tensor.type), order, number.tensor)
        results.append(e.reshape(inverse, x.shape))
    if return_counts:
        results.append(scatter_add(e, e.splat(0, TensorType((size,), "i32")), number.tensor, 1))
    return found if len(results) == 1 else tuple(results)


_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def quantile(
    e: Emitter, a: Tensor, q: Value, axis: Dims = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The element below which a share q of the others lies; q is a number from 0 to 1, or a tuple of them."""
    shares = q if isinstance(q, tuple) else (q,)
    known = [float(one) for one in shares if isinstance(one, int | float) and 0 <= one <= 1]
    if len(known) != len(shares):
        raise e.error("quantile: q is a number from 0 to 1 known while compiling, or a tuple of them")
    if method not in _METHODS:
        raise e.error(f'quantile: method is one of {", ".join(_METHODS)}, not "{method}"')
    x, dims = e.inexact(a), axes_of(e, axis, a.rank)
    rest = tuple(dim for dim in range(x.rank) if dim not in dims)
    count = prod(x.shape[dim] for dim in dims)
    flat = e.reshape(transpose(e, x, (*rest, *dims)), (*(x.shape[dim] for dim in rest), count))
    if not flat.shape[-1]:
        raise e.error(f"quantile of no elements: {x.type}")
    ordered = sort(e, flat, -1)
    none = any_(e, isnan(e, flat), -1, False)
    found = [where(e, none, float("nan"), _between(e, ordered, one, method)) for one in known]
    if keepdims:
        shape = tuple(1 if dim in dims else n for dim, n in enumerate(x.shape))
        found = [e.reshape(one, shape) for one in found]
    return stack(e, tuple(found)) if isinstance(q, tuple) else found[0]


def _between(e: Emitter, ordered: Tensor, share: float, method: str) -> Tensor:
    """What lies at a share of the way through the last dimension."""
    place = share * (ordered.shape[-1] - 1)
    low, high = floor(place), ceil(place)
    below, above = (_at(e, ordered, one) for one in (low, high))
    if method == "nearest":
        return below if place - low <= 0.5 and not (place - low == 0.5 and low % 2) else above
    if method in ("lower", "higher") or low == high:
        return above if method == "higher" else below
    weight = 0.5 if method == "midpoint" else place - low
    return (Formula(e, below) * (1 - weight) + Formula(e, above) * weight).tensor


def _at(e: Emitter, x: Tensor, place: int) -> Tensor:
    return e.reshape(slice_dim(e, x, x.rank - 1, place, place + 1), x.shape[:-1])


def percentile(
    e: Emitter, a: Tensor, q: Value, axis: Dims = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """quantile of q / 100."""
    shares = q if isinstance(q, tuple) else (q,)
    scaled = tuple(one / 100 if isinstance(one, int | float) else one for one in shares)
    return quantile(e, a, scaled if isinstance(q, tuple) else scaled[0], axis, method, keepdims)


def median(e: Emitter, a: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The element in the middle, or the mean of the two there."""
    return quantile(e, a, 0.5, axis, "midpoint", keepdims)


def ptp(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest."""
    return (Formula(e, max_(e, x, axis, keepdims)) - min_(e, x, axis, keepdims)).tensor


def average(
    e: Emitter, a: Tensor, axis: int | None = None, weights: Operand | None = None, keepdims: bool = False
) -> Tensor:
    """The mean, of elements that count as much as their weights."""
    x = e.inexact(a)
    if weights is None:
        return mean_over(e, x, axes_of(e, axis, x.rank), keepdims)
    weight = e.tensor(weights)
    if weight.shape != x.shape:
        if axis is None or weight.rank != 1 or weight.shape[0] != x.shape[axis_of(e, axis, x.rank)]:
            raise e.error(f"average: weights {weight.type} do not fit {x.type}")
        weight = e.broadcast_in_dim(weight, x.shape, (axis_of(e, axis, x.rank),))
    total = Formula(e, sum_(e, (Formula(e, x) * weight).tensor, axis, keepdims))
    return (total / sum_(e, weight, axis, keepdims)).tensor


def cov(e: Emitter, m: Tensor, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Tensor:
    """The covariances of variables, which are rows, or columns with rowvar=False."""
    x = e.inexact(m)
    if x.rank not in (1, 2):
        raise e.error(f"cov of {x.type}", "it takes a vector or a matrix")
    x = expand_dims(e, x, 0) if x.rank == 1 else x if rowvar else swapaxes(e, x, 0, 1)
    count = x.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    if count <= 0:
        raise e.error(f"cov of {x.shape[1]} observations with ddof={x.shape[1] - count}")
    center = (Formula(e, x) - mean_over(e, x, (1,), True)).tensor
    result = (Formula(e, matmul(e, center, conj(e, swapaxes(e, center, 0, 1)))) / count).tensor
    return e.reshape(result, result.shape if x.shape[0] > 1 else ())


def corrcoef(e: Emitter, x: Tensor, rowvar: bool = True) -> Tensor:
    """The correlations of variables: their covariances, divided by their deviations."""
    found = cov(e, x, rowvar)
    if not found.rank:
        return (Formula(e, found) / found).tensor
    deviation = e.op(hlo.sqrt.name, diagonal(e, found))
    rows, columns = expand_dims(e, deviation, 1), expand_dims(e, deviation, 0)
    result = (Formula(e, found) / rows / columns).tensor
    if not is_complex(result.dtype):
        return clip(e, result, -1.0, 1.0)
    return e.op(hlo.complex_.name, *(clip(e, part(e, result), -1.0, 1.0) for part in (real, imag)))
