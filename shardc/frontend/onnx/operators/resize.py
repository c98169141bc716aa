"""Resize and Upsample: every axis by itself, a weighted sum of elements at places known while compiling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import add, axis, choose, literal, mul, vector
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.values import Tensor
from shardc.graph.types import is_float

Floats = NDArray[np.float64]


class Axis(Struct, frozen=True):
    """One axis that is resized: sizes, the scale, and the part of it that tf_crop_and_resize takes."""

    size: int
    result: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    @property
    def exact(self) -> float:
        """The size of the result before it was rounded down."""
        return self.scale * self.size


def _half_pixel(a: Axis, x: Floats) -> Floats:
    return (x + 0.5) / a.scale - 0.5


def _half_pixel_symmetric(a: Axis, x: Floats) -> Floats:
    adjusted = a.result / a.exact
    center = a.size / 2
    return center * (1 - adjusted) + _half_pixel(a, x)


def _pytorch(a: Axis, x: Floats) -> Floats:
    return _half_pixel(a, x) if a.result > 1 else np.zeros_like(x)


def _align(a: Axis, x: Floats) -> Floats:
    return x * (a.size - 1) / (a.exact - 1) if a.exact != 1 else np.zeros_like(x)


def _asymmetric(a: Axis, x: Floats) -> Floats:
    return x / a.scale


def _crop(a: Axis, x: Floats) -> Floats:
    if a.result > 1:
        return a.start * (a.size - 1) + x * (a.end - a.start) * (a.size - 1) / (a.result - 1)
    return np.full_like(x, 0.5 * (a.start + a.end) * (a.size - 1))


COORDINATES: dict[str, Callable[[Axis, Floats], Floats]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch,
    "align_corners": _align,
    "asymmetric": _asymmetric,
    "tf_crop_and_resize": _crop,
}

ROUNDING: dict[str, Callable[[Floats], Floats]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _hat(x: Floats) -> Floats:
    return np.maximum(0.0, 1.0 - np.abs(x))


def _cubic(a: float) -> Callable[[Floats], Floats]:
    """Keys' kernel."""

    def kernel(x: Floats) -> Floats:
        d = np.abs(x)
        near = (a + 2) * d**3 - (a + 3) * d**2 + 1
        far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0.0))

    return kernel


def _resize(n: Node) -> Tensor:
    x = n.x(0)
    mode = n.text("mode", "nearest")
    where = n.text("coordinate_transformation_mode", "half_pixel" if n.version > 10 else "asymmetric")
    if where not in COORDINATES:
        raise n.unsupported(f"with {where}")
    dtype = x.dtype
    outside = np.ones(0)
    for dim, a in _axes(n, x).items():
        places = COORDINATES[where](a, np.arange(n.places(a.result), dtype=np.float64))
        if where == "tf_crop_and_resize":
            outside = (places < 0) | (places > a.size - 1)
        if mode == "nearest":
            default = "round_prefer_floor" if n.version > 10 else "floor"
            x = _nearest(n, x, dim, ROUNDING[n.text("nearest_mode", default)](places))
        else:
            x = n.e.cast(x, "f32") if not is_float(x.dtype) else x
            x = _weighted(n, x, dim, a, places, _kernel(n, mode), 1 if mode == "linear" else 2)
        if where == "tf_crop_and_resize" and outside.any():
            mask = n.e.broadcast_in_dim(literal(n.e, outside), x.shape, (dim,))
            x = choose(n.e, mask, n.float("extrapolation_value"), x)
    if dtype != x.dtype:
        from shardc.ops import hlo

        x = n.e.cast(n.e.op(hlo.round_nearest_even.name, x), dtype)
    return x


def _kernel(n: Node, mode: str) -> Callable[[Floats], Floats]:
    if mode not in ("linear", "cubic"):
        raise n.unsupported(f"with mode {mode}")
    return _hat if mode == "linear" else _cubic(n.float("cubic_coeff_a", -0.75))


def _axes(n: Node, x: Tensor) -> dict[int, Axis]:
    """The axes whose size or place changes."""
    old = n.version < 11
    scales_at, roi_at, sizes_at = (1, -1, -1) if old else (2, 1, 3)
    rank = x.rank
    dims = tuple(axis(d, rank) for d in n.ints("axes") or range(rank))
    crop = n.text("coordinate_transformation_mode") == "tf_crop_and_resize"
    roi = (
        n.known(roi_at).reshape(-1).astype(float)
        if crop
        else np.tile([0.0, 1.0], (len(dims), 1)).T.reshape(-1)
    )
    sizes = n.numbers(sizes_at) if sizes_at > 0 and n.has(sizes_at) else ()
    if sizes:
        found = _of_sizes(n, x, dims, sizes)
    else:
        given = n.attributes["scales"] if "scales" in n.attributes else n.known(scales_at).reshape(-1)
        scales = [float(scale) for scale in given]
        found = {}
        for i, (dim, scale) in enumerate(zip(dims, scales, strict=True)):
            span = roi[len(dims) + i] - roi[i]
            found[dim] = (int(np.floor(x.shape[dim] * span * scale)), scale)
    axes = {
        dim: Axis(x.shape[dim], *found[dim], float(roi[i]), float(roi[len(dims) + i]))
        for i, dim in enumerate(dims)
    }
    return {
        dim: a for dim, a in axes.items() if a.size != a.result or a.scale != 1 or (a.start, a.end) != (0, 1)
    }


def _of_sizes(
    n: Node, x: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...]
) -> dict[int, tuple[int, float]]:
    """Size and scale per axis; keep_aspect_ratio_policy takes one scale for all."""
    scales = [size / x.shape[dim] for size, dim in zip(sizes, dims, strict=True)]
    policy = n.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scale = min(scales) if policy == "not_larger" else max(scales)
        return {dim: (int(np.floor(scale * x.shape[dim] + 0.5)), scale) for dim in dims}
    return dict(zip(dims, zip(sizes, scales, strict=True), strict=True))


def _nearest(n: Node, x: Tensor, dim: int, places: Floats) -> Tensor:
    """Elements at rounded places; whole repetitions need no gather."""
    e, size, count = n.e, x.shape[dim], len(places)
    index = np.clip(places, 0, size - 1).astype(np.int64)
    if count and size and count % size == 0 and (index == np.arange(count) // (count // size)).all():
        shape = (*x.shape[: dim + 1], count // size, *x.shape[dim + 1 :])
        spread = e.broadcast_in_dim(x, shape, tuple(i for i in range(len(shape)) if i != dim + 1))
        return e.reshape(spread, (*x.shape[:dim], count, *x.shape[dim + 1 :]))
    return take(e, x, vector(e, index), dim)


def _weighted(
    n: Node, x: Tensor, dim: int, a: Axis, places: Floats, kernel: Callable[[Floats], Floats], reach: int
) -> Tensor:
    """A sum over the elements within reach of each place, weighted by the kernel."""
    e = n.e
    shrink = min(1.0, a.scale) if n.int("antialias") else 1.0
    half = int(np.ceil(reach / shrink))
    n.places(2 * half * len(places))
    base = np.floor(places)
    offsets = np.arange(-half + 1, half + 1)
    index = base[:, None] + offsets
    weights = kernel((places[:, None] - index) * shrink)
    inside = (index >= 0) & (index < a.size)
    if n.int("exclude_outside"):
        weights = np.where(inside, weights, 0)
    total = weights.sum(1, keepdims=True)
    if n.int("exclude_outside") or n.int("antialias"):
        weights = weights / np.where(total == 0, 1, total)
    result: Tensor | None = None
    for tap in range(n.parts(len(offsets))):
        if not weights[:, tap].any():
            continue
        part = take(e, x, vector(e, np.clip(index[:, tap], 0, a.size - 1)), dim)
        factor = e.broadcast_in_dim(literal(e, weights[:, tap].astype(x.type.numpy)), part.shape, (dim,))
        term = mul(e, part, factor)
        result = term if result is None else add(e, result, term)
    assert result is not None
    return result


OPERATORS: dict[str, Lower] = {"Resize": _resize, "Upsample": _resize}
