"""Expressions of one element of an array, each made once: equal ones have the same number.

    x + 3 + y, y + (x + 3)          one number: sums of integers and exclusive ors are flat and in order
    16 * i + j, of i < 8, j < 16    an affine number of places, as long as it fits its dtype

Floats are not reordered; they lose x * 1 and x + 0 only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.graph.types import DTYPES, is_float, is_integer
from shardc.ops import hlo
from shardc.semantics.arrays import integer_ends

Symbol = tuple[str, str, int]
"""A number from 0 on, below the last part: ("place", "1", 16) in a dimension, ("axis", "data", 2)."""

INDEX = "i64"
"""The dtype of places in an array."""


class Affine(Struct, frozen=True):
    """An integer: a constant, and numbers times factors."""

    dtype: str
    constant: int
    terms: tuple[tuple[Symbol, int], ...] = ()

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number that it can be."""
        reach = [factor * (symbol[2] - 1) for symbol, factor in self.terms]
        return self.constant + sum(r for r in reach if r < 0), self.constant + sum(r for r in reach if r > 0)


class Number(Struct, frozen=True):
    """A float or a complex number, by its bits."""

    dtype: str
    bits: bytes


class Element(Struct, frozen=True):
    """An element of an array of which nothing more is known."""

    value: int
    index: tuple[int, ...]
    dtype: str


class Applied(Struct, frozen=True):
    """An operation on expressions; `constant` is what a sum or an exclusive or has beside them."""

    name: str
    dtype: str
    operands: tuple[int, ...]
    constant: int = 0


Form = Affine | Number | Element | Applied


class Elements:
    """Makes expressions and keeps them."""

    def __init__(self) -> None:
        self.forms: list[Form] = []
        self._numbers: dict[Form, int] = {}

    def number(self, form: Form) -> int:
        """The number of an expression."""
        if form not in self._numbers:
            self._numbers[form] = len(self.forms)
            self.forms.append(form)
        return self._numbers[form]

    def integer(self, value: int, dtype: str = INDEX) -> int:
        """A constant, modulo what its dtype holds."""
        return self.number(Affine(dtype, _wrapped(value, dtype)))

    def constant(self, value: Any, dtype: str) -> int:
        """A constant of an array."""
        if is_integer(dtype) or dtype == "bool":
            return self.integer(int(value), dtype)
        return self.number(Number(dtype, np.asarray(value, DTYPES[dtype][1]).tobytes()))

    def place(self, symbol: Symbol, dtype: str = INDEX) -> int:
        """A number from 0 on; 0 where it has one value."""
        return self.integer(0, dtype) if symbol[2] == 1 else self.number(Affine(dtype, 0, ((symbol, 1),)))

    def whole(self, expr: int) -> int | None:
        """The integer that an expression is everywhere."""
        form = self.forms[expr]
        return form.constant if isinstance(form, Affine) and not form.terms else None

    def float(self, expr: int) -> Any:
        """The float or complex number that an expression is everywhere, as NumPy has it, or None."""
        form = self.forms[expr]
        return np.frombuffer(form.bits, DTYPES[form.dtype][1])[0] if isinstance(form, Number) else None

    def apply(self, name: str, dtype: str, *operands: int) -> int:
        """An elementwise operation."""
        made = _MAKE.get(name)
        found = None if made is None else made(self, dtype, operands)
        if found is not None:
            return found
        ordered = sorted(operands) if name in _COMMUTE else operands
        return self.number(Applied(name, dtype, tuple(ordered)))

    def reached(self, expr: int) -> Iterable[Form]:
        """The expression and all in it, each once."""
        left, seen = [expr], {expr}
        while left:
            form = self.forms[left.pop()]
            yield form
            inner = form.operands if isinstance(form, Applied) else ()
            left += [x for x in dict.fromkeys(inner) if x not in seen]
            seen.update(inner)


def _wrapped(value: int, dtype: str) -> int:
    low, high = _limits(dtype)
    return (value - low) % (high - low + 1) + low


def _limits(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, 1
    return integer_ends(DTYPES[dtype][1])


def _fitting(
    elements: Elements, dtype: str, constant: int, terms: Mapping[Symbol, int] | None = None
) -> int | None:
    """An affine number, if its dtype holds all that it can be. Constants are taken modulo that."""
    kept = tuple(sorted((symbol, factor) for symbol, factor in (terms or {}).items() if factor))
    if not kept:
        return elements.integer(constant, dtype)
    found = Affine(dtype, constant, kept)
    (least, most), (low, high) = found.bounds, _limits(dtype)
    return elements.number(found) if low <= least and most <= high else None


def _sum(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    if is_float(dtype):
        zero = elements.constant(0, dtype)
        rest = [x for x in operands if x != zero]
        return rest[0] if len(rest) == 1 else elements.constant(0, dtype) if not rest else None
    constant, terms = 0, Counter[Symbol]()
    for form in (elements.forms[x] for x in operands):
        if not isinstance(form, Affine):
            break
        constant += form.constant
        for symbol, factor in form.terms:
            terms[symbol] += factor
    else:
        found = _fitting(elements, dtype, constant, terms)
        if found is not None:
            return found
    return _flat(elements, hlo.add.name, dtype, operands) if is_integer(dtype) else None


def _flat(elements: Elements, name: str, dtype: str, operands: tuple[int, ...]) -> int:
    """A sum or an exclusive or of integers, without those in it."""
    constant, rest = 0, list[int]()
    for x in operands:
        form = elements.forms[x]
        inner, own = (), 0
        if isinstance(form, Applied) and form.name == name:
            inner, own = form.operands, form.constant
        elif isinstance(form, Affine) and not form.terms:
            own = form.constant
        else:
            inner = (x,)
        rest += inner
        constant = constant + own if name == hlo.add.name else constant ^ own
    return elements.number(Applied(name, dtype, tuple(sorted(rest)), _wrapped(constant, dtype)))


def _difference(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    first, second = (elements.forms[x] for x in operands)
    if is_float(dtype):
        return _folded(elements, dtype, np.subtract, operands)
    if not isinstance(first, Affine) or not isinstance(second, Affine):
        return None
    terms = Counter(dict(first.terms))
    terms.subtract(dict(second.terms))
    return _fitting(elements, dtype, first.constant - second.constant, terms)


def _folded(elements: Elements, dtype: str, function: Any, operands: tuple[int, ...]) -> int | None:
    values = [elements.float(x) for x in operands]
    return None if any(v is None for v in values) else elements.constant(function(*values), dtype)


def _product(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    if is_float(dtype):
        one = elements.constant(1, dtype)
        rest = [x for x in operands if x != one]
        return rest[0] if len(rest) == 1 else one if not rest else None
    for x, y in (operands, operands[::-1]):
        form, factor = elements.forms[x], elements.whole(y)
        if isinstance(form, Affine) and factor is not None:
            return _fitting(elements, dtype, form.constant * factor, {s: f * factor for s, f in form.terms})
    return None


def _converted(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    form = elements.forms[operands[0]]
    if isinstance(form, Affine) and is_integer(dtype):
        return _fitting(elements, dtype, form.constant, dict(form.terms))
    return operands[0] if getattr(form, "dtype", None) == dtype else None


def _shifted(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    """Nothing of a number is left beyond its bits."""
    form, count = elements.forms[operands[0]], elements.whole(operands[1])
    if count is not None and count >= 8 * DTYPES[dtype][1].itemsize:
        return elements.integer(0, dtype)
    if not isinstance(form, Affine) or count is None or form.bounds[0] < 0 or count < 0:
        return None
    if not form.terms:
        return elements.integer(form.constant >> count, dtype)
    return elements.integer(0, dtype) if form.bounds[1] >> count == 0 else None


def _masked(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    for x, y in (operands, operands[::-1]):
        form, mask = elements.forms[x], elements.whole(y)
        if mask is not None and mask == _limits(dtype)[1] and dtype.startswith("u"):
            return x
        if isinstance(form, Affine) and mask is not None and mask & (mask + 1) == 0 <= form.bounds[0]:
            if form.bounds[1] <= mask:
                return x
    return None


def _exclusive(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    values = [elements.whole(x) for x in operands]
    if None not in values:
        return elements.integer((values[0] or 0) ^ (values[1] or 0), dtype)
    return _flat(elements, hlo.xor.name, dtype, operands) if is_integer(dtype) else None


def _maximum(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    return _extreme(elements, dtype, operands, max)


def _minimum(elements: Elements, dtype: str, operands: tuple[int, ...]) -> int | None:
    return _extreme(elements, dtype, operands, min)


def _extreme(
    elements: Elements, dtype: str, operands: tuple[int, ...], chosen: Callable[[int, int], int]
) -> int | None:
    """The end of a dtype changes nothing."""
    if not is_integer(dtype):
        return None
    end = _limits(dtype)[0 if chosen is max else 1]
    first, second = (elements.whole(x) for x in operands)
    if first is not None and second is not None:
        return elements.integer(chosen(first, second), dtype)
    return operands[1] if first == end else operands[0] if second == end else None


_MAKE = {
    hlo.maximum.name: _maximum,
    hlo.minimum.name: _minimum,
    hlo.add.name: _sum,
    hlo.subtract.name: _difference,
    hlo.multiply.name: _product,
    hlo.convert.name: _converted,
    hlo.shift_right_logical.name: _shifted,
    hlo.and_.name: _masked,
    hlo.xor.name: _exclusive,
}
_COMMUTE = {d.name for d in (hlo.add, hlo.multiply, hlo.xor, hlo.and_, hlo.or_, hlo.maximum, hlo.minimum)}
