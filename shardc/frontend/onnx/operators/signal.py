"""Fourier transforms."""

from __future__ import annotations

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import add, axis, concat, iota, literal, mul, pad, slice_, transpose
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.ops import hlo


def _transform(e: Emitter, real: Tensor, imaginary: Tensor | None, inverse: bool) -> list[Tensor]:
    """The real and the imaginary part of the transform of the last dimension."""
    kind = "c128" if real.dtype == "f64" else "c64"
    parts = [
        e.cast(part, "f64" if kind == "c128" else "f32") for part in (real, imaginary) if part is not None
    ]
    if imaginary is None:
        parts.append(e.splat(0.0, parts[0].type))
    signal = e.op(hlo.complex_.name, *parts, result=real.type.with_dtype(kind))
    done = e.op(
        hlo.fft.name,
        signal,
        fft_type="IFFT" if inverse else "FFT",
        fft_length=(real.shape[-1],),
        result=signal.type,
    )
    return [e.cast(e.op(op.name, done), real.dtype) for op in (hlo.real, hlo.imag)]


def _first(e: Emitter, parts: list[Tensor], count: int) -> list[Tensor]:
    """The first frequencies."""
    return [slice_(e, part, part.rank - 1, 0, count) for part in parts]


def _dft(n: Node) -> Tensor:
    """Of real or complex numbers, whose parts are the last axis, along another."""
    e, x = n.e, n.x(0)
    dim = n.int("axis", 1) if n.version < 20 else int(n.known(2).reshape(-1)[0]) if n.has(2) else -2
    dim = axis(dim, x.rank)
    if dim == x.rank - 1 or x.shape[-1] not in (1, 2):
        raise Invalid(f"axis {dim} of {x.type}")
    size = n.places(int(n.known(1).reshape(-1)[0]) if n.has(1) else x.shape[dim])
    inverse, onesided = bool(n.int("inverse")), bool(n.int("onesided"))
    parts = [e.reshape(slice_(e, x, x.rank - 1, i, i + 1), x.shape[:-1]) for i in range(x.shape[-1])]
    order = (*(i for i in range(x.rank - 1) if i != dim), dim)
    parts = [transpose(e, part, order) for part in parts]
    if inverse and onesided:
        parts, size = _mirrored(e, parts, size if n.has(1) else 2 * (x.shape[dim] - 1))
    parts = [_resized(e, part, size) for part in parts]
    count = size // 2 + 1 if onesided and not inverse else size
    results = _first(e, _transform(e, parts[0], parts[1] if len(parts) > 1 else None, inverse), count)
    back = [order.index(i) for i in range(x.rank - 1)]
    kept = results[:1] if inverse and onesided else results
    placed = [transpose(e, part, back) for part in kept]
    return concat(e, [e.reshape(part, (*part.shape, 1)) for part in placed], x.rank - 1)


def _mirrored(e: Emitter, parts: list[Tensor], size: int) -> tuple[list[Tensor], int]:
    """All frequencies of a real signal from its first half: the others are their conjugates."""
    half = size // 2 + 1
    places = literal(e, np.array([k if k < half else size - k for k in range(size)], np.int32))
    signs = np.array([1 if k < half else -1 for k in range(size)])
    real, *rest = [take(e, _resized(e, part, half), places, part.rank - 1) for part in parts]
    turned = [
        mul(
            e,
            part,
            e.broadcast_in_dim(literal(e, signs.astype(part.type.numpy)), part.shape, (part.rank - 1,)),
        )
        for part in rest
    ]
    return [real, *turned], size


def _resized(e: Emitter, x: Tensor, size: int) -> Tensor:
    """The last dimension cut, or filled with zeros."""
    none = (0,) * (x.rank - 1)
    return pad(e, x, 0, (*none, 0), (*none, size - x.shape[-1]))


def _stft(n: Node) -> Tensor:
    """The transform of overlapping frames, each times the window."""
    e, x = n.e, n.x(0)
    step = int(n.known(1).reshape(-1)[0])
    if n.has(3):
        length = int(n.known(3).reshape(-1)[0])
    else:
        length = n.type(2).shape[0]
    parts = (
        [e.reshape(slice_(e, x, 2, i, i + 1), x.shape[:2]) for i in range(x.shape[2])] if x.rank == 3 else [x]
    )
    frames = 1 + (x.shape[1] - length) // step
    grid = (frames, length)
    places = add(e, mul(e, iota(e, grid, 0), step), iota(e, grid, 1))
    cut = [take(e, part, places, 1) for part in parts]
    if n.has(2):
        cut = [mul(e, part, n.x(2)) for part in cut]
    count = length // 2 + 1 if n.int("onesided", 1) else length
    results = _first(e, _transform(e, cut[0], cut[1] if len(cut) > 1 else None, False), count)
    return concat(e, [e.reshape(part, (*part.shape, 1)) for part in results], 3)


OPERATORS: dict[str, Lower] = {"DFT": _dft, "STFT": _stft}
