"""Elementwise functions of NumPy and jax.nn that are a formula of others, as JAX has them."""

from __future__ import annotations

from math import inf, log, pi

from shardc.frontend.text.builtins.elementwise import abs_, clip, relu, softplus
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.operators import floor_divide, remainder
from shardc.frontend.text.builtins.reductions import axis_of, mean_over, var
from shardc.frontend.text.builtins.shapes import split
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dims, Operand, Scalar, Tensor
from shardc.ops import chlo, hlo


def _float(e: Emitter, x: Operand) -> Formula:
    return Formula(e, e.inexact(x))


def log2(e: Emitter, x: Operand) -> Tensor:
    return (_float(e, x).op(hlo.log) / log(2)).tensor


def log10(e: Emitter, x: Operand) -> Tensor:
    return (_float(e, x).op(hlo.log) / log(10)).tensor


def radians(e: Emitter, x: Operand) -> Tensor:
    return (_float(e, x) * (pi / 180)).tensor


def degrees(e: Emitter, x: Operand) -> Tensor:
    return (_float(e, x) * (180 / pi)).tensor


def hypot(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """sqrt(x * x + y * y) without squares that are too large or small."""
    a, b = (Formula(e, one).of(abs_) for one in e.together(e.inexact(x), e.inexact(y)))
    large, small = a.op(hlo.maximum, b), a.op(hlo.minimum, b)
    ratio = small / large.where(large.compare("!=", 0), 1)
    root = (ratio * ratio + 1).op(hlo.sqrt) * large
    infinite = a.compare("==", inf).op(hlo.or_, b.compare("==", inf))
    return Formula(e, inf).where(infinite, large.where(large.compare("==", 0), root)).tensor


def logaddexp(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """log(exp(x) + exp(y))"""
    a, b = (Formula(e, one) for one in e.together(e.inexact(x), e.inexact(y)))
    apart = a - b
    large = a.op(hlo.maximum, b) + (-apart.of(abs_)).op(hlo.exponential).op(hlo.log_plus_one)
    return (a + b).where(apart.compare("!=", apart), large).tensor


def logaddexp2(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """log2(2**x + 2**y)"""
    scale = log(2)
    left, right = (_float(e, one) * scale for one in (x, y))
    return (Formula(e, logaddexp(e, left.x, right.x)) / scale).tensor


def sinc(e: Emitter, x: Operand) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    angle = _float(e, x) * pi
    zero = angle.compare("==", 0)
    safe = Formula(e, 1.0).where(zero, angle)
    return Formula(e, 1.0).where(zero, safe.op(hlo.sine) / safe).tensor


def heaviside(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """0 below zero, 1 above, y there."""
    a, b = (Formula(e, one) for one in e.together(e.inexact(x), e.inexact(y)))
    above = Formula(e, 1.0).where(a.compare(">", 0), b)
    nan = a.compare("!=", a)
    return a.where(nan, Formula(e, 0.0).where(a.compare("<", 0), above)).tensor


def trunc(e: Emitter, x: Operand) -> Tensor:
    """Towards zero."""
    a = Formula(e, e.tensor(x))
    return a.op(hlo.ceil).where(a.compare("<", 0), a.op(hlo.floor)).tensor


def fmax(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """The larger; if one is NaN, the other."""
    return _other_than_nan(e, x, y, ">")


def fmin(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """The smaller; if one is NaN, the other."""
    return _other_than_nan(e, x, y, "<")


def _other_than_nan(e: Emitter, x: Operand, y: Operand, symbol: str) -> Tensor:
    a, b = (Formula(e, one) for one in e.together(x, y))
    wins = a.compare(symbol, b).op(hlo.or_, b.compare("!=", b))
    return a.where(wins, b).tensor


def divmod_(e: Emitter, x: Operand, y: Operand) -> tuple[Tensor, ...]:
    """(x // y, x % y)"""
    return floor_divide(e, x, y), remainder(e, x, y)


def erfc(e: Emitter, x: Operand) -> Tensor:
    """1 - erf(x), exact for large x."""
    return e.op(chlo.erfc.name, e.inexact(x))


# ---- activations


def relu6(e: Emitter, x: Operand) -> Tensor:
    return clip(e, relu(e, x), None, 6.0)


def log_sigmoid(e: Emitter, x: Operand) -> Tensor:
    """log(sigmoid(x)) = -softplus(-x)"""
    return (-Formula(e, softplus(e, (-_float(e, x)).x))).tensor


def hard_tanh(e: Emitter, x: Operand) -> Tensor:
    return clip(e, e.inexact(x), -1.0, 1.0)


def hard_sigmoid(e: Emitter, x: Operand) -> Tensor:
    return (Formula(e, relu6(e, (_float(e, x) + 3.0).x)) / 6.0).tensor


def hard_silu(e: Emitter, x: Operand) -> Tensor:
    return (_float(e, x) * hard_sigmoid(e, x)).tensor


def celu(e: Emitter, x: Operand, alpha: Scalar = 1.0) -> Tensor:
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    a = _float(e, x)
    low = a.op(hlo.minimum, 0.0)
    return a.where(a.compare(">", 0.0), (low / alpha).op(hlo.exponential_minus_one) * alpha).tensor


def selu(e: Emitter, x: Operand) -> Tensor:
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    a = _float(e, x)
    low = a.op(hlo.minimum, 0.0).op(hlo.exponential_minus_one) * alpha
    return (a.where(a.compare(">", 0.0), low) * scale).tensor


def glu(e: Emitter, x: Tensor, axis: int = -1) -> Tensor:
    """The first half times the sigmoid of the second."""
    dim = axis_of(e, axis, x.rank)
    if x.shape[dim] % 2:
        raise e.error(f"glu of {x.type}: dimension {dim} has no halves")
    first, second = split(e, e.inexact(x), 2, dim)
    return (Formula(e, second).op(hlo.logistic) * first).tensor


def soft_sign(e: Emitter, x: Operand) -> Tensor:
    a = _float(e, x)
    return (a / (a.of(abs_) + 1)).tensor


def squareplus(e: Emitter, x: Operand, b: Operand = 4) -> Tensor:
    """(x + sqrt(x * x + b)) / 2"""
    a = _float(e, x)
    return ((a + (a * a + b).op(hlo.sqrt)) / 2).tensor


def mish(e: Emitter, x: Operand) -> Tensor:
    """x * tanh(softplus(x))"""
    a = _float(e, x)
    return (a * a.of(softplus).op(hlo.tanh)).tensor


def standardize(e: Emitter, x: Tensor, axis: Dims = -1, epsilon: Scalar = 1e-5) -> Tensor:
    """x less its mean, divided by its standard deviation."""
    floats = e.inexact(x)
    dims = (axis,) if isinstance(axis, int) else axis
    kept = tuple(axis_of(e, one, x.rank) for one in (range(x.rank) if dims is None else dims))
    center = Formula(e, floats) - mean_over(e, floats, kept, True)
    return (center * (Formula(e, var(e, floats, kept, 0, True)) + epsilon).op(hlo.rsqrt)).tensor
