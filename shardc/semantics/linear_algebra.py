"""cholesky, triangular_solve, fft and the batch norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shardc.semantics.arrays import Array, quiet, widen
from shardc.semantics.deferred import blas


def cholesky(operand: Array, *, lower: bool = False) -> Array:
    """The factor L of a = L L^H from one triangle of `operand`, or its adjoint; NaN where there is none."""
    wide = widen(operand)
    adjoint = np.conj(np.swapaxes(wide, -1, -2))
    triangle = np.tril(wide if lower else adjoint)
    diagonal = np.eye(wide.shape[-1], dtype=wide.dtype) * wide
    whole = triangle + np.conj(np.swapaxes(triangle, -1, -2)) - diagonal
    flat = whole.reshape((-1, *whole.shape[-2:]))
    factors = np.stack([_factor(matrix) for matrix in flat]) if len(flat) else flat
    factors = factors.reshape(whole.shape)
    result = factors if lower else np.conj(np.swapaxes(factors, -1, -2))
    return result.astype(operand.dtype, copy=False)


def _factor(matrix: Array) -> Array:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def triangular_solve(
    a: Array,
    b: Array,
    *,
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose_a: str = "NO_TRANSPOSE",
) -> Array:
    """x with op(a) x = b, or x op(a) = b; only one triangle of `a` is read, and by a zero on its diagonal is
    divided as IEEE 754 has it, by BLAS's trsm.
    """
    code = {"NO_TRANSPOSE": 0, "TRANSPOSE": 1, "ADJOINT": 2}[transpose_a]
    result = np.empty_like(b)
    for index in np.ndindex(a.shape[:-2]) if b.size else ():
        matrix, right = widen(a[index]), widen(b[index])
        (trsm,) = blas.get_blas_funcs(("trsm",), (matrix, right))
        result[index] = trsm(
            1.0, matrix, right, side=not left_side, lower=lower, trans_a=code, diag=unit_diagonal
        )
    return result


def fft(operand: Array, *, fft_type: str, fft_length: Sequence[int]) -> Array:
    """FFT, IFFT, RFFT or IRFFT over the last dimensions."""
    axes = tuple(range(operand.ndim - len(fft_length), operand.ndim))
    functions: dict[str, Any] = {
        "FFT": np.fft.fftn,
        "IFFT": np.fft.ifftn,
        "RFFT": np.fft.rfftn,
        "IRFFT": np.fft.irfftn,
    }
    result = functions[fft_type](operand, s=tuple(fft_length), axes=axes)
    single = operand.dtype.itemsize == (8 if operand.dtype.kind == "c" else 4)
    real = fft_type == "IRFFT"
    return result.astype((np.float32 if real else np.complex64) if single else result.dtype)


def _feature_shape(operand: Array, feature_index: int) -> list[int]:
    return [size if dim == feature_index else 1 for dim, size in enumerate(operand.shape)]


@quiet
def batch_norm_inference(
    operand: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> Array:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset for each feature."""
    shape = _feature_shape(operand, feature_index)
    scale, offset, mean, variance = (widen(a).reshape(shape) for a in (scale, offset, mean, variance))
    centered = widen(operand) - mean
    result = scale * centered / np.sqrt(variance + variance.dtype.type(epsilon)) + offset
    return result.astype(operand.dtype, copy=False)


@quiet
def batch_norm_training(
    operand: Array, scale: Array, offset: Array, *, epsilon: float, feature_index: int
) -> list[Array]:
    """The normalised operand, and the mean and variance of each feature."""
    others = tuple(dim for dim in range(operand.ndim) if dim != feature_index)
    wide = widen(operand)
    mean, variance = np.mean(wide, axis=others), np.var(wide, axis=others)
    normal = batch_norm_inference(
        operand, scale, offset, mean, variance, epsilon=epsilon, feature_index=feature_index
    )
    return [normal, mean.astype(operand.dtype), variance.astype(operand.dtype)]


@quiet
def batch_norm_grad(
    operand: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    grad_output: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> list[Array]:
    """The gradients of batch_norm_training's operand, scale and offset."""
    others = tuple(dim for dim in range(operand.ndim) if dim != feature_index)
    shape = _feature_shape(operand, feature_index)
    wide, grad = widen(operand), widen(grad_output)
    root = np.sqrt(widen(variance).reshape(shape) + wide.dtype.type(epsilon))
    normal = (wide - widen(mean).reshape(shape)) / root
    grad_scale = np.sum(grad * normal, axis=others)
    grad_offset = np.sum(grad, axis=others)
    count = wide.dtype.type(operand.size // max(operand.shape[feature_index], 1))
    mean_part = (grad_offset.reshape(shape) + normal * grad_scale.reshape(shape)) / count
    grad_operand = widen(scale).reshape(shape) / root * (grad - mean_part)
    return [array.astype(operand.dtype, copy=False) for array in (grad_operand, grad_scale, grad_offset)]
