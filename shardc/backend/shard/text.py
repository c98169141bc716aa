"""Constants and types as the .shard language writes them: f32(0.5), zeros((8, 64), dtype=f32), f32[8, 64]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.backend.python.expressions import UNARY, Expr, call, keyword, list_of, raw, tuple_of
from shardc.graph import Dense, TensorType, is_complex, is_float


def number(value: np.generic, dtype: str) -> Expr:
    """An element as a number that, converted to the dtype, has the same bits."""
    if dtype == "bool":
        return raw(str(bool(value)))
    if is_complex(dtype):
        return _complex(value)
    if not is_float(dtype):
        return _signed(str(int(value)))
    return _real(value)


def _complex(value: np.generic) -> Expr:
    """complex(1.0, 2.0)"""
    return call("complex", _real(value.real), _real(value.imag))


def _real(value: np.generic) -> Expr:
    wide = float(value)
    if np.isnan(wide):
        return raw("nan")
    if np.isinf(wide):
        return _signed("inf" if wide > 0 else "-inf")
    short = str(value)
    return _signed(repr(float(short) if value.dtype.type(float(short)) == value else wide))


def _signed(text: str) -> Expr:
    return raw(text, UNARY) if text.startswith("-") else raw(text)


def filled(literal: Expr, type: TensorType) -> Expr:
    """f32(0.5), zeros((8, 64), dtype=f32), full((8, 64), 0.5, dtype=f32)."""
    if type.rank == 0:
        return call(type.dtype, literal)
    shape, dtype = sizes(type.shape), keyword("dtype", type.dtype)
    if literal.text in ("0", "0.0", "False", "complex(0.0, 0.0)"):
        return call("zeros", shape, dtype)
    if literal.text in ("1", "1.0", "True", "complex(1.0, 0.0)"):
        return call("ones", shape, dtype)
    return call("full", shape, literal, dtype)


def array(value: Dense, dtype: str) -> Expr:
    """array([[1, 2], [3, 4]], dtype=i32), or zeros((0, 2), dtype=i32), whose list would not say the shape."""
    if value.data.size == 0:
        return call("zeros", sizes(value.shape), keyword("dtype", dtype))
    return call("array", _nested(value.array(), dtype), keyword("dtype", dtype))


def _nested(data: NDArray[np.generic], dtype: str) -> Expr:
    if data.ndim == 0:
        return number(data.reshape(1)[0], dtype)
    return list_of([_nested(data[i, ...], dtype) for i in range(data.shape[0])])


def sizes(values: Sequence[int]) -> Expr:
    """(8, 64)"""
    return tuple_of([_signed(str(int(value))) for value in values])


def axis(dims: Sequence[int]) -> Expr:
    """1, or (0, 2)"""
    return raw(str(dims[0])) if len(dims) == 1 else sizes(dims)
