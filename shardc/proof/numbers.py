"""Exact arrays among the numbers that blocks are of, so that collectives combine and compare them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from shardc.proof import values
from shardc.proof.arithmetic import COMBINATIONS
from shardc.proof.meanings_complex import add, multiply
from shardc.proof.values import pair
from shardc.semantics.arrays import Array, quiet
from shardc.semantics.blocks import NUMBERS


class ExactNumbers:
    """How exact elements combine; `really` asks of equal elements only that their shadows agree."""

    really = False

    def combine(self, left: Array, right: Array, kind: str) -> Array:
        return COMBINATIONS[kind](left, right)

    def identity(self, kind: str) -> Array:
        return values.identity(kind)

    def equal(self, left: Array, right: Array) -> Array:
        same = values.same(left, right)
        return same | really_equal(left, right) if self.really else same


class ComplexNumbers:
    """How complex elements combine: by sums, and products; they have no order."""

    def combine(self, left: Array, right: Array, kind: str) -> Array:
        if kind not in _COMPLEX:
            raise values.Beyond(f"combinations of complex numbers by {kind}")
        return _COMPLEX[kind](left, right)

    def identity(self, kind: str) -> Array:
        return pair(values.identity(kind), values.identity("sum"))

    def equal(self, left: Array, right: Array) -> Array:
        return _NUMBERS.equal(left["re"], right["re"]) & _NUMBERS.equal(left["im"], right["im"])


_COMPLEX = {"sum": add, "prod": multiply}


@quiet
def really_equal(left: Array, right: Array) -> np.ndarray:
    """Where shadows are within 64 times their errors, or none is a number: values are not shown to differ."""
    a, b = left["shadow"], right["shadow"]
    special = values.special(left) | values.special(right)
    near = np.abs(a - b) <= 64 * (values.error(left) + values.error(right))
    lost = ~np.isfinite(a) & ~np.isfinite(b)
    return ~special & (lost | (np.isfinite(a) & np.isfinite(b) & near))


_NUMBERS = ExactNumbers()
NUMBERS[values.EXACT] = _NUMBERS
NUMBERS[values.COMPLEX] = ComplexNumbers()


@contextmanager
def real_copies() -> Generator[None]:
    """Let devices that hold copies agree in their real values only."""
    _NUMBERS.really = True
    try:
        yield
    finally:
        _NUMBERS.really = False
