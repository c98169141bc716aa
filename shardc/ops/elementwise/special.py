"""The chlo dialect's functions: what JAX keeps whole although StableHLO could spell it out."""

from __future__ import annotations

from functools import partial

import numpy as np

from shardc.graph import TensorType
from shardc.ops.definition import APPROXIMATES, COMPUTES, OpDef, Trait, of
from shardc.ops.elementwise.make import INEXACT, REAL, SIGNED, binary, unary
from shardc.ops.elementwise.rules import complex_parts, decreasing, increasing, opaque
from shardc.ops.elementwise.types import to_bool
from shardc.ops.registry import define
from shardc.semantics import special as kernels

_truth = partial(to_bool, 1, REAL)
_Z = TensorType((8, 4), "c64")

acos = unary(
    "chlo.acos",
    INEXACT,
    np.arccos,
    doc="The angle whose cosine is x.",
    array="arccos",
    language="arccos",
    work=APPROXIMATES,
)
acosh = unary(
    "chlo.acosh",
    INEXACT,
    np.arccosh,
    doc="The inverse of cosh.",
    array="arccosh",
    language="arccosh",
    work=APPROXIMATES,
)
asin = unary(
    "chlo.asin",
    INEXACT,
    np.arcsin,
    doc="The angle whose sine is x.",
    array="arcsin",
    language="arcsin",
    work=APPROXIMATES,
)
asinh = unary(
    "chlo.asinh",
    INEXACT,
    np.arcsinh,
    increasing,
    doc="The inverse of sinh.",
    array="arcsinh",
    language="arcsinh",
    work=APPROXIMATES,
)
atan = unary(
    "chlo.atan",
    INEXACT,
    np.arctan,
    increasing,
    doc="The angle whose tangent is x.",
    array="arctan",
    language="arctan",
    work=APPROXIMATES,
)
atanh = unary(
    "chlo.atanh",
    INEXACT,
    np.arctanh,
    doc="The inverse of tanh.",
    array="arctanh",
    language="arctanh",
    work=APPROXIMATES,
)
bessel_i1e = unary(
    "chlo.bessel_i1e",
    REAL,
    kernels.bessel_i1e,
    doc="The scaled modified Bessel function of order 1.",
    jax="lax.bessel_i1e",
    work=APPROXIMATES,
)
conj = unary("chlo.conj", SIGNED, np.conj, complex_parts, doc="The complex conjugate.", array="conj")
cosh = unary(
    "chlo.cosh",
    INEXACT,
    np.cosh,
    doc="The hyperbolic cosine.",
    array="cosh",
    language="cosh",
    work=APPROXIMATES,
)
digamma = unary(
    "chlo.digamma",
    REAL,
    kernels.digamma,
    doc="The derivative of lgamma.",
    jax="lax.digamma",
    work=APPROXIMATES,
)
erf = unary(
    "chlo.erf",
    REAL,
    kernels.erf,
    increasing,
    doc="The error function.",
    jax="lax.erf",
    language="erf",
    work=APPROXIMATES,
)
erf_inv = unary(
    "chlo.erf_inv", REAL, kernels.erf_inv, doc="The inverse of erf.", jax="lax.erf_inv", work=APPROXIMATES
)
erfc = unary(
    "chlo.erfc",
    REAL,
    kernels.erfc,
    decreasing,
    doc="1 - erf x, exact for large x.",
    jax="lax.erfc",
    work=APPROXIMATES,
)
is_inf = unary(
    "chlo.is_inf", REAL, kernels.is_inf, infer=_truth, doc="Whether x is infinite.", jax="jnp.isinf"
)
is_neg_inf = unary(
    "chlo.is_neg_inf", REAL, kernels.is_neg_inf, infer=_truth, doc="Whether x is -inf.", jax="jnp.isneginf"
)
is_pos_inf = unary(
    "chlo.is_pos_inf", REAL, kernels.is_pos_inf, infer=_truth, doc="Whether x is +inf.", jax="jnp.isposinf"
)
lgamma = unary(
    "chlo.lgamma",
    REAL,
    kernels.lgamma,
    doc="The logarithm of the gamma function's magnitude.",
    jax="lax.lgamma",
    work=APPROXIMATES,
)
next_after = binary(
    "chlo.next_after",
    REAL,
    np.nextafter,
    doc="The next float after x towards y.",
    jax="lax.nextafter",
    numpy="np.nextafter",
    strict=True,
)
polygamma = binary(
    "chlo.polygamma",
    REAL,
    kernels.polygamma,
    doc="The x-th derivative of digamma at y.",
    jax="lax.polygamma",
    strict=True,
    work=APPROXIMATES,
)
sinh = unary(
    "chlo.sinh",
    INEXACT,
    np.sinh,
    increasing,
    doc="The hyperbolic sine.",
    array="sinh",
    language="sinh",
    work=APPROXIMATES,
)
square = unary("chlo.square", INEXACT, kernels.square, doc="x * x.", array="square")
tan = unary("chlo.tan", INEXACT, np.tan, doc="The tangent.", array="tan", work=APPROXIMATES)
zeta = binary(
    "chlo.zeta",
    REAL,
    kernels.zeta,
    doc="The Hurwitz zeta function.",
    jax="lax.zeta",
    strict=True,
    work=APPROXIMATES,
)

# Shardy knows a rule of it; nothing else here knows it.
asin_acos_kernel = define(
    OpDef(
        name="chlo.asin_acos_kernel",
        doc="A part of complex asin and acos.",
        rule=opaque,
        work=COMPUTES,
        traits=frozenset((Trait.ELEMENTWISE,)),
        example=of("chlo.asin_acos_kernel", [_Z], _Z),
    )
)
