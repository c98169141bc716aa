"""Fourier transforms, as jax.numpy.fft has them: fft, ifft, rfft, irfft, those of two dimensions, and shifts.

StableHLO transforms the last dimensions; others are moved there and back. A dimension is transformed whole:
where it is split, the planner moves the split to another dimension and back.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from shardc.frontend.text.builtins.creation import arange
from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.builtins.padding import pad
from shardc.frontend.text.builtins.reductions import axes_of, axis_of
from shardc.frontend.text.builtins.shapes import roll, slice_dim, transpose
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dims, Scalar, Tensor
from shardc.graph.types import is_complex
from shardc.ops import hlo

_NORMS = ("backward", "ortho", "forward")

Transform = Callable[[Emitter, Tensor, int | None, int, str], Tensor]


def _along(name: str) -> Transform:
    """fft, ifft, rfft or irfft along one axis."""

    def lower(e: Emitter, a: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        dim = axis_of(e, axis, a.rank)
        with e.group(name):
            operand = _operand(e, name, a)
            length = _length(e, name, n, operand.shape[dim])
            kept = length // 2 + 1 if name == "irfft" else length
            whole = _transformed(e, name, _resized(e, operand, dim, kept), dim, length)
            return _scaled(e, name, whole, length, norm)

    return lower


fft, ifft, rfft, irfft = (_along(name) for name in ("fft", "ifft", "rfft", "irfft"))


def _several(name: str) -> Callable[[Emitter, Tensor, tuple[int, ...], str], Tensor]:
    """fft2 and ifft2: two dimensions one after the other: each may be split while the other is not."""

    def lower(e: Emitter, a: Tensor, axes: tuple[int, ...] = (-2, -1), norm: str = "backward") -> Tensor:
        dims = tuple(axis_of(e, axis, a.rank) for axis in axes)
        if len(dims) != 2 or dims[0] == dims[1]:
            raise e.error(f"{name} takes two dimensions, not axes={axes}")
        kind = name.removesuffix("2")
        with e.group(name):
            whole = _operand(e, kind, a)
            lengths = tuple(_length(e, name, None, whole.shape[dim]) for dim in dims)
            for dim, length in zip(reversed(dims), reversed(lengths), strict=True):
                whole = _transformed(e, kind, whole, dim, length)
            return _scaled(e, kind, whole, lengths[0] * lengths[1], norm)

    return lower


fft2, ifft2 = _several("fft2"), _several("ifft2")


def _operand(e: Emitter, name: str, a: Tensor) -> Tensor:
    """The operand in a dtype that the transform takes."""
    if name == "rfft":
        if is_complex(a.dtype):
            raise e.error(f"rfft takes real numbers, not {a.type}", "fft(x) transforms complex ones")
        return a if a.dtype == "f64" else e.cast(a, "f32")
    return a if is_complex(a.dtype) else e.cast(a, "c128" if a.dtype == "f64" else "c64")


def _length(e: Emitter, name: str, n: int | None, size: int) -> int:
    length = n if n is not None else 2 * (size - 1) if name == "irfft" else size
    if length < 1:
        raise e.error(f"{name} of {length} elements")
    return length


def _resized(e: Emitter, x: Tensor, dim: int, size: int) -> Tensor:
    """With so many elements along a dimension: the first ones, or with zeros behind."""
    own = x.shape[dim]
    if own >= size:
        return x if own == size else slice_dim(e, x, dim, 0, size)
    width = tuple((0, size - own if i == dim else 0) for i in range(x.rank))
    return pad(e, x, width)


def _transformed(e: Emitter, name: str, x: Tensor, dim: int, length: int) -> Tensor:
    """The transform of a dimension, which is the last one for StableHLO."""
    order = (*(i for i in range(x.rank) if i != dim), dim)
    last = x if dim == x.rank - 1 else transpose(e, x, order)
    last = e.op(hlo.fft.name, last, fft_type=name.upper(), fft_length=(length,), weak=False)
    back = tuple(order.index(i) for i in range(x.rank))
    return last if dim == x.rank - 1 else transpose(e, last, back)


def _scaled(e: Emitter, name: str, x: Tensor, count: int, norm: str) -> Tensor:
    """StableHLO divides the inverse transforms by the number of elements: `backward`."""
    if norm not in _NORMS:
        raise e.error(f'norm is "backward", "ortho" or "forward", not "{norm}"')
    power = {"backward": 0.0, "ortho": -0.5, "forward": -1.0}[norm]
    power = -power if name.startswith("i") else power
    if not power:
        return x
    factor = (1 / sqrt(count) if power < 0 else sqrt(count)) if abs(power) == 0.5 else float(count) ** power
    return e.op(hlo.multiply.name, *e.together(x, factor))


def fftfreq(e: Emitter, n: int, d: Scalar = 1.0) -> Tensor:
    """The frequencies of fft's results, in cycles per unit of the spacing d: 0, 1, …, -1 over n * d. f32."""
    if n < 1:
        raise e.error(f"the frequencies of {n} elements")
    with e.group("fftfreq"):
        numbers = arange(e, n)
        half = comparison(e, *e.together(numbers, (n - 1) // 2), direction="GT")
        shifted = e.op(hlo.subtract.name, *e.together(numbers, n))
        whole = e.op(hlo.select.name, half, shifted, numbers)
        return e.op(hlo.divide.name, *e.together(e.cast(whole, "f32"), _spacing(e, n, d)))


def rfftfreq(e: Emitter, n: int, d: Scalar = 1.0) -> Tensor:
    """The frequencies of rfft's results: 0, 1, …, n // 2 over n * d. f32."""
    if n < 1:
        raise e.error(f"the frequencies of {n} elements")
    with e.group("rfftfreq"):
        numbers = e.cast(arange(e, n // 2 + 1), "f32")
        return e.op(hlo.divide.name, *e.together(numbers, _spacing(e, n, d)))


def _spacing(e: Emitter, n: int, d: Scalar) -> float:
    if not d:
        raise e.error("the spacing d is 0")
    return float(n * d)


def _shift(backwards: bool) -> Callable[[Emitter, Tensor, Dims], Tensor]:
    def lower(e: Emitter, x: Tensor, axes: Dims = None) -> Tensor:
        for dim in axes_of(e, axes, x.rank):
            half = x.shape[dim] // 2
            x = roll(e, x, -half if backwards else half, dim)
        return x

    return lower


fftshift, ifftshift = _shift(False), _shift(True)
"""The zero frequency to the middle, and back."""
