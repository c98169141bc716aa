"""Functions of NumPy on numbers and samples: copysign, gcd, isin, select, interp, convolve and the like."""

from __future__ import annotations

import numpy as np

from shardc.frontend.text.builtins.complex_numbers import conj
from shardc.frontend.text.builtins.control import while_loop
from shardc.frontend.text.builtins.convolution import conv
from shardc.frontend.text.builtins.elementwise import abs_, clip, where
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.builtins.operators import floor_divide, multiply, negate, remainder
from shardc.frontend.text.builtins.products import same_dtype
from shardc.frontend.text.builtins.reductions import any_
from shardc.frontend.text.builtins.shapes import concatenate, flip, ravel, slice_dim
from shardc.frontend.text.builtins.sorting import searchsorted, sort_by
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import FunctionName, Operand, Tensor, Value, describe
from shardc.graph.types import TensorType, is_complex, is_integer
from shardc.ops import hlo


def copysign(e: Emitter, x1: Operand, x2: Operand) -> Tensor:
    """x1 with the sign of x2, which may be that of a zero."""
    x, sign = e.together(e.inexact(x1), e.inexact(x2))
    if is_complex(x.dtype):
        raise e.error(f"copysign of {x.type}: complex numbers have no sign")
    word = f"i{8 * x.type.numpy.itemsize}"
    bits = e.op(hlo.bitcast_convert.name, sign, result=sign.type.with_dtype(word))
    size = abs_(e, x)
    return where(e, Formula(e, bits).compare("<", 0).x, negate(e, size), size)


def gcd(e: Emitter, x1: Operand, x2: Operand) -> Tensor:
    """The greatest common divisor, by Euclid's algorithm on all elements at once."""
    x, y = _integers(e, "gcd", x1, x2)

    def unfinished(_: Value, rest: Value) -> Value:
        assert isinstance(rest, Tensor)
        return any_(e, Formula(e, rest).compare("!=", 0).tensor, None, False)

    def step(whole: Value, rest: Value) -> Value:
        assert isinstance(whole, Tensor) and isinstance(rest, Tensor)
        more = Formula(e, rest).compare("!=", 0).x
        left = remainder(e, whole, where(e, more, rest, 1))
        return where(e, more, rest, whole), where(e, more, left, 0)

    functions = FunctionName("gcd", None, unfinished), FunctionName("gcd", None, step)
    found = while_loop(e, *functions, (abs_(e, x), abs_(e, y)))
    assert isinstance(found, tuple) and isinstance(found[0], Tensor)
    return found[0]


def lcm(e: Emitter, x1: Operand, x2: Operand) -> Tensor:
    """The least common multiple; 0 where both are."""
    x, y = (abs_(e, one) for one in _integers(e, "lcm", x1, x2))
    common = gcd(e, x, y)
    none = Formula(e, common).compare("==", 0).x
    return where(e, none, 0, multiply(e, x, floor_divide(e, y, where(e, none, 1, common))))


def _integers(e: Emitter, name: str, x1: Operand, x2: Operand) -> list[Tensor]:
    found = e.together(x1, x2)
    if not is_integer(found[0].dtype):
        raise e.error(f"{name} takes integers, not {found[0].type}")
    return found


def isin(e: Emitter, element: Operand, test_elements: Operand, invert: bool = False) -> Tensor:
    """Whether each element is among others, all of which it is compared with."""
    x, others = e.tensor(element), ravel(e, e.tensor(test_elements))
    equal = Formula(e, e.reshape(x, (*x.shape, 1))).compare("==", others)
    found = any_(e, equal.tensor, -1, False)
    return e.op(hlo.not_.name, found) if invert else found


def select(
    e: Emitter,
    condlist: tuple[Operand, ...],
    choicelist: tuple[Operand, ...],
    default: Operand = 0,
) -> Tensor:
    """The element of the first choice whose condition holds, or the default."""
    if not condlist or len(condlist) != len(choicelist):
        raise e.error(f"select of {len(condlist)} conditions and {len(choicelist)} choices")
    found = default
    for condition, chosen in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = where(e, condition, chosen, found)
    return e.tensor(found)


def interp(
    e: Emitter,
    x: Operand,
    xp: Tensor,
    fp: Tensor,
    left: Value = None,
    right: Value = None,
    period: Operand | None = None,
) -> Tensor:
    """The function through the points (xp, fp), of which xp ascends, linear between them.

    Beyond the ends: their values, `left` and `right`, or the last lines with "extrapolate". With a period
    the points are ordered first, and the function goes on.
    """
    if xp.rank != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise e.error(f"interp: xp and fp are vectors of one size, not {xp.type} and {fp.type}")
    for name, beyond in (("left", left), ("right", right)):
        if not isinstance(beyond, Operand | None) and beyond != "extrapolate":
            raise e.error(f'interp: {name} is a number or "extrapolate", not {describe(beyond)}')
    places, points = (e.inexact(one) for one in same_dtype(e, x, xp))
    values = e.inexact(fp)
    if period is not None:
        whole = abs_(e, e.cast(e.tensor(period), points.dtype))
        places, points = remainder(e, places, whole), remainder(e, points, whole)
        points, values = sort_by(e, "interp", [points, values], 0)
        count = points.shape[0]
        ends = (slice_dim(e, points, 0, count - 1, count), slice_dim(e, points, 0, 0, 1))
        before, after = (Formula(e, ends[0]) - whole).tensor, (Formula(e, ends[1]) + whole).tensor
        points = concatenate(e, (before, points, after))
        last, first = slice_dim(e, values, 0, count - 1, count), slice_dim(e, values, 0, 0, 1)
        values = concatenate(e, (last, values, first))
    count = points.shape[0]
    at = clip(e, searchsorted(e, points, places, "right"), 1, max(count - 1, 1))
    lower = (Formula(e, at) - 1).tensor
    start, base = (Formula(e, take(e, one, lower)) for one in (points, values))
    run, rise = Formula(e, take(e, points, at)) - start, Formula(e, take(e, values, at)) - base
    least = float(np.spacing(np.finfo(TensorType((), points.dtype).numpy).eps))
    flat = run.of(abs_).compare("<=", least)
    slope = (Formula(e, places) - start) / Formula(e, 1).where(flat, run)
    found = base.where(flat, base + slope * rise)
    if period is not None:
        return found.tensor
    for end, side, symbol in ((0, left, "<"), (count - 1, right, ">")):
        if side != "extrapolate":
            edge, value = (e.reshape(slice_dim(e, one, 0, end, end + 1), ()) for one in (points, values))
            beyond = Formula(e, places).compare(symbol, edge)
            found = Formula(e, value if not isinstance(side, Operand) else side).where(beyond, found)
    return found.tensor


def convolve(e: Emitter, a: Tensor, v: Tensor, mode: str = "full") -> Tensor:
    """sum of a[k] * v[n - k] over k: of all n, of as many as the longer has ("same"), or where all of the
    shorter lies inside ("valid").
    """
    x, y = _vectors(e, "convolve", a, v)
    if x.shape[0] < y.shape[0]:
        x, y = y, x
    return _slid(e, "convolve", x, flip(e, y), mode)


def correlate(e: Emitter, a: Tensor, v: Tensor, mode: str = "valid") -> Tensor:
    """sum of a[n + k] * conj(v[k]) over k."""
    x, y = _vectors(e, "correlate", a, v)
    y = conj(e, y) if is_complex(y.dtype) else y
    if x.shape[0] >= y.shape[0]:
        return _slid(e, "correlate", x, y, mode)
    return flip(e, _slid(e, "correlate", y, x, mode))


def _vectors(e: Emitter, name: str, a: Tensor, v: Tensor) -> list[Tensor]:
    if a.rank != 1 or v.rank != 1 or not a.shape[0] or not v.shape[0]:
        raise e.error(f"{name} takes vectors with elements, not {a.type} and {v.type}")
    return [e.inexact(one) for one in same_dtype(e, a, v)]


def _slid(e: Emitter, name: str, x: Tensor, y: Tensor, mode: str) -> Tensor:
    size = y.shape[0]
    widths = {"full": (size - 1, size - 1), "same": (size // 2, size - size // 2 - 1), "valid": (0, 0)}
    if mode not in widths:
        raise e.error(f'{name}: mode is "full", "same" or "valid", not "{mode}"')
    image, kernel = (e.reshape(one, (1, 1, *one.shape)) for one in (x, y))
    found = conv(e, image, kernel, padding=(widths[mode],), layout="NCW")
    return e.reshape(found, found.shape[2:])
