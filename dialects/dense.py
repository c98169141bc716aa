"""Constant tensors: the attribute `dense<…> : tensor<…>`, its text, and its Python value.

xDSL's own attribute expands splats and misreads hexadecimal floats (`dense<0xFF800000>`, which is how JAX
prints -inf), so the IR uses this one. A splat is one element however large the tensor is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, BuiltinAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from shardc.dialects.data_attribute import ValueAttr, data_attribute
from shardc.dialects.float_text import float_text
from shardc.dialects.types import numpy_of
from shardc.graph.attrs import Dense

HEX_ABOVE = 64
"""Arrays of more elements than this print as one hexadecimal string."""


class Literal(Struct, frozen=True):
    """A tensor type and the elements."""

    type: TensorType[Attribute]
    value: Dense


@data_attribute
class DenseAttr(ValueAttr[Literal], BuiltinAttribute):
    """`dense<[1, 2]> : tensor<2xi32>`, with elements in NumPy."""

    name = "shardc.dense"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Literal:
        parser.raise_error("a constant is written dense<...>")

    def print_parameter(self, printer: Printer) -> None:
        self.print_builtin(printer)

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(f"dense<{text_of(self.data.value)}> : ")
        printer.print_attribute(self.data.type)

    def get_type(self) -> TensorType[Attribute]:
        """The tensor type."""
        return self.data.type


def dense_attr(value: Dense, type: TensorType[Attribute]) -> DenseAttr:
    """The attribute for a value; a tensor of one element always counts as a splat."""
    if value.data.size == 1 and not value.is_splat:
        value = Dense(value.data.reshape(()), value.shape)
    return DenseAttr(Literal(type, value))


@lru_cache(maxsize=32)
def pairs_attr(rows: tuple[tuple[int, ...], ...]) -> DenseAttr:
    """`dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>` for padding, replica groups and permute pairs."""
    data = np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 2)
    if data.size and (data == data.flat[0]).all():
        return DenseAttr(Literal(TensorType(i64, data.shape), Dense(data.reshape(-1)[0], data.shape)))
    return dense_attr(Dense(data, data.shape), TensorType(i64, data.shape))


# Reading


def parse_literal(body: str, type: TensorType[Attribute]) -> DenseAttr:
    """The attribute for what stands between `dense<` and `>`; ValueError if it does not fit the type."""
    dtype, shape = numpy_of(type.element_type), tuple(type.get_shape())
    if any(size < 0 for size in shape):
        raise ValueError("a constant needs a static shape")
    body = body.strip()
    if body.startswith('"'):
        data = _from_hex(body, dtype, shape)
    elif not body:
        data = _filled([], dtype, shape)
    elif body.startswith("["):
        data = _filled(list(_elements(body, shape)), dtype, shape)
    else:
        data = number(body, dtype)
    return dense_attr(Dense(data, shape), type)


def number(word: str, dtype: np.dtype) -> NDArray[np.generic]:
    """A scalar from how it is written; ValueError if it does not fit."""
    return _array([word], dtype).reshape(())


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def _filled(words: list[str], dtype: np.dtype, shape: tuple[int, ...]) -> NDArray[np.generic]:
    if len(words) != _size(shape):
        raise ValueError(f"the type asks for {_size(shape)} elements, but there are {len(words)}")
    return _array(words, dtype).reshape(shape)


def _from_hex(body: str, dtype: np.dtype, shape: tuple[int, ...]) -> NDArray[np.generic]:
    if not re.fullmatch(r'"0x([0-9a-fA-F]{2})*"', body):
        raise ValueError('a constant given as a string must be hexadecimal: "0x..."')
    raw = bytes.fromhex(body[3:-1])
    whole = raw[: len(raw) // dtype.itemsize * dtype.itemsize]
    data: NDArray[np.generic] = np.frombuffer(whole, dtype.newbyteorder("<"))
    if data.size == 1:
        return data.reshape(())
    if data.size != _size(shape):
        raise ValueError(f"the type asks for {_size(shape)} elements, but there are {data.size}")
    return data.reshape(shape)


_WORD = re.compile(r"\s*(\([^()]*\)|[\[\],]|[^\[\],()\s]+)")


def _elements(body: str, shape: tuple[int, ...]) -> Iterator[str]:
    """The elements of a nested list, which must have the shape of the type."""
    words = iter(_WORD.findall(body))
    yield from _nested(words, shape)
    if next(words, None) is not None:
        raise ValueError("there is text after the last element")


def _nested(words: Iterator[str], shape: tuple[int, ...]) -> Iterator[str]:
    if not shape:
        word = next(words, "]")
        if word in "[],":
            raise ValueError("the nesting of the elements does not fit the shape of the type")
        yield word
        return
    _expect(words, "[")
    for index in range(shape[0]):
        if index:
            _expect(words, ",")
        yield from _nested(words, shape[1:])
    _expect(words, "]")


def _expect(words: Iterator[str], wanted: str) -> None:
    if next(words, None) != wanted:
        raise ValueError("the nesting of the elements does not fit the shape of the type")


def _array(words: list[str], dtype: np.dtype) -> NDArray[np.generic]:
    try:
        return np.array([_reader(dtype)(word) for word in words], dtype)
    except (OverflowError, TypeError) as error:
        raise ValueError(f"an element does not fit {dtype}: {error}") from None


def _reader(dtype: np.dtype) -> Callable[[str], Any]:
    if dtype.kind == "b":
        return _read_bool
    if dtype.kind == "c":
        return lambda word: _read_complex(word, dtype)
    if dtype.name.startswith(("int", "uint")):
        return _read_int
    return lambda word: _read_float(word, dtype)


_BOOLS = {"true": True, "false": False, "1": True, "0": False, "-1": True}


def _read_bool(word: str) -> bool:
    if word not in _BOOLS:
        raise ValueError(f"{word} is no element of a constant of i1; write true or false")
    return _BOOLS[word]


def _read_int(word: str) -> int:
    if word in ("true", "false"):
        return int(word == "true")
    try:
        return int(word, 16) if word.lstrip("-").startswith("0x") else int(word)
    except ValueError:
        raise ValueError(f"{word} is no integer") from None


def _read_float(word: str, dtype: np.dtype) -> np.generic:
    """A decimal number, or the bits of one in hexadecimal."""
    if word.startswith("0x"):
        digits = word[2:].zfill(2 * dtype.itemsize)
        if len(digits) != 2 * dtype.itemsize:
            raise ValueError(f"{word} has not the width of {dtype}")
        bits = bytes.fromhex(digits)
        return np.frombuffer(bits[::-1], dtype)[0]
    try:
        return dtype.type(float(word))
    except ValueError:
        raise ValueError(f"{word} is no number") from None


def _read_complex(word: str, dtype: np.dtype) -> Any:
    parts = word.strip("()").split(",")
    if not word.startswith("(") or len(parts) != 2:
        raise ValueError(f"{word} is no complex number; write (real,imaginary)")
    part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    value = np.zeros((), dtype)
    value.real, value.imag = (_read_float(text.strip(), part) for text in parts)
    return value[()]


# Writing


def text_of(value: Dense) -> str:
    """What stands between `dense<` and `>`: exact for every element, NaN bits included."""
    data = value.data
    write = _writer(data.dtype)
    if value.is_splat:
        return write(data[()])
    if data.size == 0:
        return ""
    if data.size > HEX_ABOVE:
        return f'"0x{np.ascontiguousarray(data).tobytes().hex().upper()}"'
    return _list_text(data, write)


def _list_text(data: NDArray[np.generic], write: Callable[[Any], str]) -> str:
    if data.ndim == 0:
        return write(data[()])
    return f"[{', '.join(_list_text(row, write) for row in data)}]"


def _writer(dtype: np.dtype) -> Callable[[Any], str]:
    if dtype.kind == "b":
        return lambda x: "true" if x else "false"
    if dtype.kind == "c":
        return lambda x: f"({float_text(x.real)},{float_text(x.imag)})"
    if dtype.name.startswith(("int", "uint")):
        return lambda x: str(int(x))
    return float_text
