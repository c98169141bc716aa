"""Tensor types. Source locations, which every value carries, are those of shardc.diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.diagnostics import UNKNOWN as UNKNOWN
from shardc.diagnostics import Location as Location
from shardc.layout.distribute import neutral
from shardc.layout.limits import dtype_of_name

# name in .shard and JAX -> (MLIR spelling, NumPy's or ml_dtypes' name)
FP8 = {
    "f8e4m3fn": ("f8E4M3FN", "float8_e4m3fn"),
    "f8e5m2": ("f8E5M2", "float8_e5m2"),
    "f8e4m3": ("f8E4M3", "float8_e4m3"),
    "f8e3m4": ("f8E3M4", "float8_e3m4"),
    "f8e4m3fnuz": ("f8E4M3FNUZ", "float8_e4m3fnuz"),
    "f8e5m2fnuz": ("f8E5M2FNUZ", "float8_e5m2fnuz"),
    "f8e4m3b11fnuz": ("f8E4M3B11FNUZ", "float8_e4m3b11fnuz"),
    "f8e8m0fnu": ("f8E8M0FNU", "float8_e8m0fnu"),
}
"""Floats of 8 bits: exponent and mantissa. fn: no infinity, uz: no -0, b11: that bias, u: no sign."""

FOUR_BITS = {"i4": ("i4", "int4"), "u4": ("ui4", "uint4")}
"""Integers of 4 bits, which are stored, moved and converted; NumPy has each in a byte of its own."""

SHORT = frozenset((*FOUR_BITS, "i8", "u8", "i16", "u16"))
"""Integers of less than 32 bits, which may not count all rows of an array."""

_NAMES = {
    "f64": ("f64", "float64"),
    "f32": ("f32", "float32"),
    "bf16": ("bf16", "bfloat16"),
    "f16": ("f16", "float16"),
    **FP8,
    "i64": ("i64", "int64"),
    "i32": ("i32", "int32"),
    "i16": ("i16", "int16"),
    "i8": ("i8", "int8"),
    "u64": ("ui64", "uint64"),
    "u32": ("ui32", "uint32"),
    "u16": ("ui16", "uint16"),
    "u8": ("ui8", "uint8"),
    "bool": ("i1", "bool_"),
    **FOUR_BITS,
    "c64": ("complex<f32>", "complex64"),
    "c128": ("complex<f64>", "complex128"),
}

MLIR = {name: mlir for name, (mlir, _) in _NAMES.items()}
"""Name in .shard and JAX -> MLIR spelling."""

NUMPY = {name: numpy for name, (_, numpy) in _NAMES.items()}
"""Name in .shard and JAX -> that in numpy or ml_dtypes."""


class _Dtypes(Mapping[str, tuple[str, np.dtype]]):
    """Each dtype is made when it is asked for: some need ml_dtypes (layout/limits.py)."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[str, np.dtype]] = {}

    def __getitem__(self, name: str) -> tuple[str, np.dtype]:
        if name not in self.made:
            mlir, numpy = _NAMES[name]
            self.made[name] = mlir, dtype_of_name(numpy)
        return self.made[name]

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


DTYPES = _Dtypes()
"""Name in .shard and JAX -> (MLIR spelling, NumPy type)."""


def is_builtin(dtype: str) -> bool:
    """Whether NumPy itself has the dtype; the others are those of ml_dtypes."""
    return hasattr(np, NUMPY[dtype])


_BUILTIN = {DTYPES[name][1]: name for name in DTYPES if is_builtin(name)}
_ADDED = {NUMPY[name]: name for name in DTYPES if not is_builtin(name)}


def name_of(dtype: np.dtype[Any]) -> str | None:
    """The name of a NumPy type in .shard: f32. None of others."""
    return _ADDED.get(dtype.name) if dtype.isbuiltin == 2 else _BUILTIN.get(dtype)


class TensorType(Struct, frozen=True):
    """A tensor's shape and dtype (a key of DTYPES; other element types keep their MLIR spelling)."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def numpy(self) -> np.dtype:
        """The NumPy type of an element."""
        return DTYPES[self.dtype][1]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole tensor."""
        return self.size * self.numpy.itemsize

    def with_shape(self, shape: tuple[int, ...]) -> TensorType:
        return TensorType(shape, self.dtype)

    def with_dtype(self, dtype: str) -> TensorType:
        return TensorType(self.shape, dtype)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def is_float(dtype: str) -> bool:
    return dtype in ("f64", "f32") or is_narrow(dtype)


def is_narrow(dtype: str) -> bool:
    """A float of 16 or 8 bits: computed, and above all summed, in f32 and rounded once."""
    return dtype in ("bf16", "f16") or dtype in FP8


def is_complex(dtype: str) -> bool:
    return dtype in ("c64", "c128")


def is_inexact(dtype: str) -> bool:
    """A float or a complex number."""
    return is_float(dtype) or is_complex(dtype)


def is_integer(dtype: str) -> bool:
    """Signed or unsigned, without bool."""
    return dtype[0] in "iu" and dtype[1:].isdigit()


def bits_of(dtype: str) -> int:
    """Bits of an element; a truth value has a byte."""
    return int(dtype[1:]) if dtype in FOUR_BITS else 8 * DTYPES[dtype][1].itemsize


def has_infinities(dtype: str) -> bool:
    """Whether a float dtype has them, which some of 8 bits lack."""
    return bool(np.isinf(np.array(np.inf).astype(DTYPES[dtype][1])))


def identity(kind: str, dtype: str) -> np.generic:
    """The element of `dtype` that changes nothing in a combination by `kind` (sum, prod, max, min)."""
    return DTYPES[dtype][1].type(1) if kind == "prod" else neutral(DTYPES[dtype][1], kind)
