"""Derivatives of elementwise operations, as JAX has them: ties of maximum and minimum are shared."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from msgspec.structs import replace

from shardc.graph.types import is_complex, is_inexact
from shardc.ops import chlo, hlo, spmd
from shardc.ops.definition import OpDef
from shardc.ops.derivative import ZERO, Derivative, Step, bilinear, factors, linear, pulls
from shardc.ops.derivatives.terms import Term


def _abs(s: Step, ct: Term) -> Term:
    if not is_complex(s.op.operands[0].dtype):
        return ct.where(s.x.compare("GE", 0.0), -ct)
    size = s.out.where(s.out.compare("NE", 0.0), 1.0)
    scaled = ct / size
    return _complex(scaled) * s.x.op(chlo.conj)


def _complex(real: Term) -> Term:
    return real.op(hlo.complex_, real.filled(0.0))


def _extreme(direction: str) -> Derivative:
    """The one that wins; equal ones share. relu is zero at zero, as jax.nn has it."""

    def share(s: Step, own: Term, other: Term) -> Term:
        wins = own.compare(direction, other)
        if s.part_of == "relu":
            return own.filled(1.0).where(wins)
        return own.filled(1.0).where(wins, own.filled(0.5).where(own.compare("EQ", other)))

    return factors(lambda s: share(s, s.x, s.y), lambda s: share(s, s.y, s.x))


def _power_x(s: Step) -> Term:
    less = s.y.compare("EQ", 0.0)
    slope = s.y * s.x.op(hlo.power, (s.y - 1.0).where(_not(less), 1.0))
    return slope.where(_not(less))


def _power_y(s: Step) -> Term:
    return s.x.where(s.x.compare("NE", 0.0), 1.0).op(hlo.log) * s.out


def _not(truth: Term) -> Term:
    return truth.op(hlo.not_)


def _truncated(x: Term) -> Term:
    return x.op(hlo.sign) * x.op(hlo.abs_).op(hlo.floor)


def _squares(s: Step) -> Term:
    return s.x * s.x + s.y * s.y


def _like(ct: Term, shape: tuple[int, ...]) -> Term:
    """The cotangent of an operand that is a scalar beside tensors: the sum."""
    return ct if ct.shape == shape else ct.sum(range(len(ct.shape)))


def _wide(term: Term, ct: Term) -> Term:
    """A scalar operand beside tensors, in their shape."""
    return term if term.shape == ct.shape else term.broadcast(ct.shape, ())


def _clamp(which: int) -> Callable[[Step, Term], Term]:
    def pull(s: Step, ct: Term) -> Term:
        low, x, high = (_wide(s.value(i), ct) for i in range(3))
        if which == 1:
            chosen = x.compare("GT", low) & x.compare("LT", high)
        elif which == 0:
            chosen = low.compare("GT", x) & low.compare("LT", high)
        else:
            chosen = high.compare("LT", x)
        return _like(ct.where(chosen), s.op.operands[which].shape)

    return pull


def _select(which: int) -> Callable[[Step, Term], Term]:
    def pull(s: Step, ct: Term) -> Term:
        return ct.where(s.x) if which == 1 else ct.filled(0.0).where(s.x, ct)

    return pull


def _nothing(s: Step, ct: Term) -> None:
    """A predicate has no cotangent."""


def _convert(s: Step, ct: Term) -> Term:
    return ct.cast(s.op.operands[0].dtype)


def _imag(s: Step, ct: Term) -> Term:
    return ct.filled(0.0).op(hlo.complex_, -ct)


def _conj(s: Step, ct: Term) -> Term:
    if not is_complex(s.op.operands[0].dtype):
        return ct if not is_complex(ct.type.dtype) else ct.op(hlo.real)
    return ct.op(chlo.conj)


def _of(op: OpDef) -> Callable[[Step], Term]:
    return lambda s: s.x.op(op)


def _polygamma(s: Step) -> Term:
    return (s.x + 1.0).op(chlo.polygamma, s.y)


ELEMENTWISE: dict[OpDef, Derivative] = {
    hlo.abs_: pulls(_abs),
    hlo.cbrt: factors(lambda s: (1 / 3) / (s.out * s.out)),
    hlo.cosine: factors(lambda s: -s.x.op(hlo.sine)),
    hlo.exponential: factors(lambda s: s.out),
    hlo.exponential_minus_one: factors(lambda s: s.out + 1.0),
    hlo.log: pulls(lambda s, ct: ct / s.x),
    hlo.log_plus_one: pulls(lambda s, ct: ct / (s.x + 1.0)),
    hlo.logistic: factors(lambda s: s.out * (1.0 - s.out)),
    hlo.rsqrt: factors(lambda s: -0.5 * (s.out / s.x)),
    hlo.sine: factors(lambda s: s.x.op(hlo.cosine)),
    hlo.sqrt: factors(lambda s: 0.5 / s.out),
    hlo.tan: factors(lambda s: 1.0 + s.out * s.out),
    chlo.tan: factors(lambda s: 1.0 + s.out * s.out),
    hlo.tanh: pulls(lambda s, ct: (ct + ct * s.out) * (1.0 - s.out)),
    chlo.acos: factors(lambda s: -(1.0 - s.x * s.x).op(hlo.rsqrt)),
    chlo.acosh: factors(lambda s: ((s.x - 1.0) * (s.x + 1.0)).op(hlo.rsqrt)),
    chlo.asin: factors(lambda s: (1.0 - s.x * s.x).op(hlo.rsqrt)),
    chlo.asinh: factors(lambda s: (s.x * s.x + 1.0).op(hlo.rsqrt)),
    chlo.atan: pulls(lambda s, ct: ct / (s.x * s.x + 1.0)),
    chlo.atanh: pulls(lambda s, ct: ct / ((1.0 - s.x) * (1.0 + s.x))),
    chlo.cosh: factors(_of(chlo.sinh)),
    chlo.sinh: factors(_of(chlo.cosh)),
    chlo.square: factors(lambda s: 2.0 * s.x),
    chlo.digamma: factors(lambda s: s.x.filled(1.0).op(chlo.polygamma, s.x)),
    chlo.erf: factors(lambda s: (2.0 / sqrt(pi)) * (-(s.x * s.x)).op(hlo.exponential)),
    chlo.erfc: factors(lambda s: (-2.0 / sqrt(pi)) * (-(s.x * s.x)).op(hlo.exponential)),
    chlo.erf_inv: factors(lambda s: (sqrt(pi) / 2) * (s.out * s.out).op(hlo.exponential)),
    chlo.lgamma: factors(_of(chlo.digamma)),
    chlo.polygamma: pulls(_nothing, lambda s, ct: ct * _polygamma(s), flows=(1,)),
    hlo.maximum: _extreme("GT"),
    hlo.minimum: _extreme("LT"),
    hlo.power: factors(_power_x, _power_y),
    hlo.atan2: factors(lambda s: s.y / _squares(s), lambda s: -s.x / _squares(s)),
    hlo.remainder: pulls(lambda s, ct: ct, lambda s, ct: -ct * _truncated(s.x / s.y)),
    hlo.clamp: pulls(_clamp(0), _clamp(1), _clamp(2)),
    # linear in all operands, or in each
    hlo.add: linear(lambda s, ct: ct, lambda s, ct: ct),
    hlo.subtract: linear(lambda s, ct: ct, lambda s, ct: -ct),
    hlo.negate: linear(lambda s, ct: -ct),
    hlo.multiply: replace(
        bilinear(lambda s, ct: ct * s.y, lambda s, ct: s.x * ct),
        alike=Derivative(pulls(lambda s, ct: 2.0 * ct * s.x).vjp, flows=(0,)),
    ),
    hlo.divide: pulls(lambda s, ct: ct / s.y, lambda s, ct: -ct * (s.out / s.y)),
    hlo.convert: linear(_convert),
    hlo.reduce_precision: linear(
        lambda s, ct: ct.op(
            hlo.reduce_precision,
            exponent_bits=s.op.attrs["exponent_bits"],
            mantissa_bits=s.op.attrs["mantissa_bits"],
        )
    ),
    hlo.select: Derivative(pulls(_nothing, _select(1), _select(2)).vjp, flows=(1, 2), jointly=(1, 2)),
    hlo.complex_: linear(lambda s, ct: ct.op(hlo.real), lambda s, ct: -ct.op(hlo.imag)),
    hlo.real: linear(lambda s, ct: _complex(ct)),
    hlo.imag: linear(_imag),
    chlo.conj: linear(_conj),
}

STEPS: tuple[OpDef, ...] = (
    hlo.and_,
    hlo.bitcast_convert,
    hlo.ceil,
    hlo.compare,
    hlo.constant,
    hlo.count_leading_zeros,
    hlo.floor,
    hlo.get_dimension_size,
    hlo.iota,
    hlo.is_finite,
    hlo.not_,
    hlo.or_,
    hlo.popcnt,
    hlo.rng,
    hlo.rng_bit_generator,
    hlo.round_nearest_afz,
    hlo.round_nearest_even,
    hlo.shift_left,
    hlo.shift_right_arithmetic,
    hlo.shift_right_logical,
    hlo.sign,
    hlo.xor,
    hlo.partition_id,
    hlo.replica_id,
    chlo.is_inf,
    chlo.is_neg_inf,
    chlo.is_pos_inf,
    chlo.mulhi,
    chlo.next_after,
    spmd.axis_index,
)
"""Operations that change in steps, or have whole numbers and truth values only."""


def differentiable(dtype: str) -> bool:
    """Whether values of a dtype have cotangents."""
    return is_inexact(dtype)


TABLE: dict[OpDef, Any] = {**ELEMENTWISE, **dict.fromkeys(STEPS, ZERO)}
