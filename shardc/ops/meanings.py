"""Making an operation's meaning from a NumPy kernel (shardc.semantics)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from shardc.graph import Op
from shardc.semantics.arrays import Array, Body


class KernelMeaning(Struct, frozen=True):
    """A function of shardc.semantics.ops, of the operands and the attributes `keys`.

    It is told the shape or dtype of its result if asked; one of `several` results gives a list. NumPy
    programs call it by its name.
    """

    function: Callable[..., Any]
    keys: tuple[str, ...]
    shape: bool = False
    dtype: bool = False
    several: bool = False

    def __call__(self, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
        attrs: dict[str, Any] = {key: op.attrs[key] for key in self.keys if key in op.attrs}
        if self.shape:
            attrs["shape"] = op.results[0].shape
        if self.dtype:
            attrs["dtype"] = op.results[0].numpy
        result = self.function(*arrays, **attrs)
        return result if self.several else [result]


def kernel(
    function: Callable[..., Array], *keys: str, shape: bool = False, dtype: bool = False
) -> KernelMeaning:
    """A function of the operands and the attributes `keys`, which gives one result."""
    return KernelMeaning(function, keys, shape, dtype)


def kernels(function: Callable[..., list[Array]], *keys: str) -> KernelMeaning:
    """The same for a function that gives several results."""
    return KernelMeaning(function, keys, several=True)


def identity(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """The operands."""
    return list(arrays)


def nothing(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """No results."""
    return []
