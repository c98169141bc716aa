"""Constants as Python text.

A scalar is a Python literal that converts back to the same bits; a splat is zeros, ones or full; a small
array is written out, a large one as base64.
"""

from __future__ import annotations

import base64
from math import copysign, isfinite

import numpy as np
from numpy.typing import NDArray

from shardc.backend.python.emission import Target
from shardc.backend.python.expressions import UNARY, Expr, call, integers, list_of, method, raw
from shardc.graph import Dense, TensorType, is_builtin, is_complex, is_float

_WRITTEN_OUT = 64
_ROW = 64
"""Rows of so many characters have lines of their own; numbers of longer ones follow each other."""


def scalar(value: np.generic, dtype: str, target: Target) -> Expr:
    """The Python literal of one element."""
    if dtype == "bool":
        return raw(str(bool(value)))
    if is_complex(dtype):
        return _complex(value, target)
    if is_float(dtype):
        return _real(value, target)
    return _signed(str(int(value)))


def _complex(value: np.generic, target: Target) -> Expr:
    """2.0, 3j, complex(2.0, 3.0): a real number beside complex ones becomes one."""
    real, imag = complex(value.item()).real, complex(value.item()).imag
    parts = _real(value.real, target), _real(value.imag, target)
    if imag == 0 and copysign(1, imag) > 0:
        return parts[0]
    if real == 0 and copysign(1, real) > 0 and isfinite(imag) and imag > 0:
        return raw(f"{parts[1].text.removesuffix('.0')}j")
    return call("complex", *parts)


def _real(value: np.generic, target: Target) -> Expr:
    number = float(value)
    if np.isnan(number):
        return raw(f"{target.xp}.nan")
    if np.isinf(number):
        return _signed(f"{target.xp}.inf" if number > 0 else f"-{target.xp}.inf")
    short = str(value)
    exact = value.dtype.type(float(short)) == value
    return _signed(repr(float(short)) if exact else repr(number))


def _signed(text: str) -> Expr:
    return raw(text, UNARY) if text.startswith("-") else raw(text)


def is_weak(value: np.generic, dtype: str, target: Target) -> bool:
    """Whether the literal takes its dtype from the array it meets.

    JAX reads a bare integer as an i32; NumPy makes an ml_dtypes.bfloat16 times a bare float an f32.
    """
    if target.xp == "np":
        return is_builtin(dtype)
    return not dtype.startswith("u") or int(value) < 2**31


def typed(literal: Expr, dtype: str, target: Target) -> Expr:
    """jnp.float32(2.0)."""
    return call(target.dtype(dtype), literal)


def element(value: np.generic, dtype: str, target: Target) -> Expr:
    """One element, to stand beside an array of its dtype."""
    literal = scalar(value, dtype, target)
    return literal if is_weak(value, dtype, target) else typed(literal, dtype, target)


def filled(literal: Expr, type: TensorType, target: Target) -> Expr:
    """jnp.zeros((8, 64), jnp.float32)."""
    shape, dtype = integers(type.shape), target.dtype(type.dtype)
    if literal.text in ("0", "0.0", "False"):
        return call(f"{target.xp}.zeros", shape, dtype)
    if literal.text in ("1", "1.0", "True"):
        return call(f"{target.xp}.ones", shape, dtype)
    return call(f"{target.xp}.full", shape, literal, dtype)


def array(value: Dense, dtype: str, target: Target) -> Expr:
    """jnp.array([1, 2], jnp.int32), or the bytes of a large array that is no mask of a triangle.

    One without elements, whose list would not say its shape, is jnp.zeros((0, 2), jnp.int32).
    """
    data = value.array()
    if data.size == 0:
        return call(f"{target.xp}.zeros", integers(data.shape), target.dtype(dtype))
    if data.size > _WRITTEN_OUT:
        return _triangle(data, dtype, target) or _encoded(np.ascontiguousarray(data), dtype, target)
    rows = data.reshape(-1, data.shape[-1]) if data.ndim > 1 else data[:0]
    if any(len(_nested(row, dtype, target).text) > _ROW for row in rows):
        flat = call(f"{target.xp}.array", _nested(data.reshape(-1), dtype, target), target.dtype(dtype))
        return method(flat, "reshape", integers(data.shape))
    return call(f"{target.xp}.array", _nested(data, dtype, target), target.dtype(dtype))


def _nested(data: NDArray[np.generic], dtype: str, target: Target) -> Expr:
    if data.ndim == 0:
        return scalar(data.reshape(1)[0], dtype, target)
    return list_of([_nested(data[i, ...], dtype, target) for i in range(data.shape[0])])


def _triangle(data: NDArray[np.generic], dtype: str, target: Target) -> Expr | None:
    """jnp.tri(16, 16, 0, jnp.float32): ones up to a diagonal, as causal masks have; None for others."""
    if data.ndim < 2 or data.size != data.shape[-1] * data.shape[-2] or is_complex(dtype):
        return None
    rows, columns = data.shape[-2:]
    ones = data.reshape(rows, columns) != 0
    diagonal = int(ones[0].sum()) - 1 if ones[0].any() else -int(ones.any(axis=1).argmax())
    if np.tri(rows, columns, diagonal).astype(data.dtype).tobytes() != data.tobytes():
        return None
    made = call(f"{target.xp}.tri", *map(str, (rows, columns, diagonal)), target.dtype(dtype))
    return made if data.ndim == 2 else method(made, "reshape", integers(data.shape))


def _encoded(data: NDArray[np.generic], dtype: str, target: Target) -> Expr:
    text = base64.b64encode(data.tobytes()).decode("ascii")
    flat = call("np.frombuffer", call("base64.b64decode", raw(f'"{text}"')), target.dtype(dtype))
    shaped = method(flat, "reshape", integers(data.shape))
    return call("jnp.asarray", shaped) if target.xp == "jnp" else shaped
