"""What might be drawn: the functions of jax.random whose expressions an element is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.backend.python.draws import forms
from shardc.backend.python.draws.elements import Elements, Number
from shardc.graph import TensorType, is_float
from shardc.graph.types import DTYPES
from shardc.ops import hlo


class Bound(Struct, frozen=True):
    """A number that a distribution has: its expression, its constant or the value that it is."""

    expr: int
    constant: Any = None
    value: int | None = None
    is_scalar: bool = True


def kinds(
    elements: Elements, words: forms.Words, expr: int, type: TensorType, bounds: Sequence[Bound]
) -> Iterator[tuple[str, int, Sequence[int], dict[str, object]]]:
    """What might be drawn: its name, its expression, further operands and attributes."""
    dtype = type.dtype
    if dtype == "u32":
        yield "bits", forms.bits(elements, words), [], {}
    if is_float(dtype):
        for name, form in forms.FLOATS.items():
            yield name, form(elements, words, dtype), [], {}
        for low, high, span in _constant_ends(elements, expr, dtype):
            drawn = forms.uniform(elements, words, dtype, *(elements.constant(x, dtype) for x in (low, span)))
            yield "uniform", drawn, [], {"low": low, "high": high}
        ends = [Bound(elements.constant(x, dtype), float(x)) for x in (0, 1)]
        ends += [b for b in bounds if b.constant is not None or b.is_scalar]
        for low, high in ((a, b) for a in ends for b in ends if a.expr != b.expr):
            span = elements.apply(hlo.subtract.name, dtype, high.expr, low.expr)
            drawn = forms.uniform(elements, words, dtype, low.expr, span)
            operands = [b.value for b in (low, high) if b.value is not None]
            yield "uniform", drawn, operands, {"low": low.constant, "high": high.constant}
    if dtype == "bool":
        for bound in bounds:
            of = elements.forms[bound.expr].dtype
            drawn = forms.between(elements, words, of, 0, 1)
            less = elements.apply(f"{hlo.compare.name} LT", "bool", drawn, bound.expr)
            operands = [] if bound.value is None else [bound.value]
            yield "bernoulli", less, operands, {"chance": bound.constant, "of": of}


def _constant_ends(elements: Elements, expr: int, dtype: str) -> Iterator[tuple[Any, Any, Any]]:
    """Pairs of constants in an expression as bounds: the lower one, the upper one, their difference."""
    found = [form for form in elements.reached(expr) if isinstance(form, Number)]
    numbers = [elements.float(elements.number(form)) for form in found]
    numbers += [kind(x) for kind in (DTYPES[dtype][1].type,) for x in (0, 1)]
    for low, span in ((a, b) for a in numbers for b in numbers):
        with np.errstate(all="ignore"):
            high = low + span
            if high - low == span:
                yield low, high, span
