"""Fourier transforms as random linear functions: a dimension of n is multiplied by a random matrix of n x n.

What is equal with any matrices in their place is equal with those of Fourier, and a transform over several
dimensions is one over each of them. RFFT has the first rows of FFT's matrix. That an IFFT undoes an FFT, and
that transforms of real numbers are symmetric, is not known here; shadows are the real transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shardc.graph import Op, TensorType
from shardc.graph.attrs import DotDims
from shardc.ops import hlo
from shardc.ops.definition import of
from shardc.proof import field
from shardc.proof.draws import Draw
from shardc.proof.meanings_complex import product, split
from shardc.proof.meanings_structural import product as real_product
from shardc.proof.table import exact_complex
from shardc.proof.values import exact, is_complex, make, pair
from shardc.semantics.arrays import Array, Body


@exact_complex(hlo.fft)
def fft(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """Over the last dimensions, the last of them first, where IRFFT has it last."""
    kind, lengths = str(op.attrs["fft_type"]), cast("Sequence[int]", op.attrs["fft_length"])
    result = exact(arrays[0])
    first = result.ndim - len(lengths)
    others = [(first + place, length) for place, length in enumerate(lengths[:-1])]
    if kind == "IRFFT":
        for dim, length in others:
            result = _times(draw, result, dim, _matrix(draw, "IFFT", length, length))
        return [_real_inverse(draw, result, lengths[-1])]
    name = "FFT" if kind == "RFFT" else kind
    rows = lengths[-1] // 2 + 1 if kind == "RFFT" else lengths[-1]
    result = _times(draw, result, result.ndim - 1, _matrix(draw, name, lengths[-1], rows))
    for dim, length in others:
        result = _times(draw, result, dim, _matrix(draw, name, length, length))
    return [result]


def _matrix(draw: Draw, name: str, length: int, rows: int) -> Array:
    """The first rows of a transform's matrix."""
    k, j = np.arange(rows)[:, None], np.arange(length)[None, :]
    turns = 2 * np.pi * (k * j % max(length, 1)) / max(length, 1)
    real, imaginary = np.cos(turns), np.sin(turns) * (-1 if name == "FFT" else 1)
    scale = 1 if name == "FFT" else 1 / max(length, 1)
    return pair(
        _entries(draw, (name, "re", length), real * scale),
        _entries(draw, (name, "im", length), imaginary * scale),
    )


def _entries(draw: Draw, name: tuple[object, ...], shadow: NDArray[np.float64]) -> Array:
    """Random residues; cosines of angles that are rounded may be off by some units in the last place of 1."""
    places = np.arange(shadow.size, dtype=np.uint64).reshape(shadow.shape)
    residues = field.hashed(draw.key("fourier", *name), [places])
    off = 2.0**-50 * float(np.abs(shadow).max(initial=0.0))
    return make(residues, shadow, shadow + np.where(residues & np.uint64(1), off, -off))


def _times(draw: Draw, operand: Array, dim: int, matrix: Array) -> Array:
    """The matrix applied along a dimension."""
    moved = np.moveaxis(operand, dim, -1)
    types = [TensorType(array.shape, "c128" if is_complex(array) else "f64") for array in (moved, matrix)]
    out = types[0].with_shape((*moved.shape[:-1], matrix.shape[0]))
    numbers = DotDims((), (), (moved.ndim - 1,), (1,))
    dot = of(hlo.dot_general.name, types, out, dot_dimension_numbers=numbers)
    multiply = product if is_complex(matrix) else real_product
    (result,) = multiply(draw, dot, [moved, matrix])
    return np.moveaxis(result, -1, dim)


def _real_inverse(draw: Draw, operand: Array, length: int) -> Array:
    """IRFFT over the last dimension: a random real function of both parts of its n / 2 + 1 numbers."""
    j, k = np.arange(length)[:, None], np.arange(length // 2 + 1)[None, :]
    turns = 2 * np.pi * (j * k % max(length, 1)) / max(length, 1)
    times = np.where((k == 0) | (2 * k == length), 1, 2) / max(length, 1)
    shadow = np.concatenate([times * np.cos(turns), -times * np.sin(turns)], axis=1)
    both = np.concatenate(split(operand), axis=-1)
    return _times(draw, both, both.ndim - 1, _entries(draw, ("IRFFT", length), shadow))
