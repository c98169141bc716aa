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
_function, _function_of_two = partial(unary, work=APPROXIMATES), partial(binary, work=APPROXIMATES)

acos = _function(
    "chlo.acos", INEXACT, np.arccos, doc="The angle whose cosine is x.", array="arccos", language="arccos"
)
acosh = _function(
    "chlo.acosh", INEXACT, np.arccosh, doc="The inverse of cosh.", array="arccosh", language="arccosh"
)
asin = _function(
    "chlo.asin", INEXACT, np.arcsin, doc="The angle whose sine is x.", array="arcsin", language="arcsin"
)
asinh = _function(
    "chlo.asinh",
    INEXACT,
    np.arcsinh,
    increasing,
    doc="The inverse of sinh.",
    array="arcsinh",
    language="arcsinh",
)
atan = _function(
    "chlo.atan",
    INEXACT,
    np.arctan,
    increasing,
    doc="The angle whose tangent is x.",
    array="arctan",
    language="arctan",
)
atanh = _function(
    "chlo.atanh", INEXACT, np.arctanh, doc="The inverse of tanh.", array="arctanh", language="arctanh"
)
bessel_i1e = _function(
    "chlo.bessel_i1e",
    REAL,
    kernels.bessel_i1e,
    doc="The scaled modified Bessel function of order 1.",
    jax="lax.bessel_i1e",
)
conj = unary("chlo.conj", SIGNED, np.conj, complex_parts, doc="The complex conjugate.", array="conj")
cosh = _function("chlo.cosh", INEXACT, np.cosh, doc="The hyperbolic cosine.", array="cosh", language="cosh")
digamma = _function("chlo.digamma", REAL, kernels.digamma, doc="The derivative of lgamma.", jax="lax.digamma")
erf = _function(
    "chlo.erf", REAL, kernels.erf, increasing, doc="The error function.", jax="lax.erf", language="erf"
)
erf_inv = _function("chlo.erf_inv", REAL, kernels.erf_inv, doc="The inverse of erf.", jax="lax.erf_inv")
erfc = _function(
    "chlo.erfc", REAL, kernels.erfc, decreasing, doc="1 - erf x, exact for large x.", jax="lax.erfc"
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
lgamma = _function(
    "chlo.lgamma",
    REAL,
    kernels.lgamma,
    doc="The logarithm of the gamma function's magnitude.",
    jax="lax.lgamma",
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
polygamma = _function_of_two(
    "chlo.polygamma",
    REAL,
    kernels.polygamma,
    doc="The x-th derivative of digamma at y.",
    jax="lax.polygamma",
    strict=True,
)
sinh = _function(
    "chlo.sinh", INEXACT, np.sinh, increasing, doc="The hyperbolic sine.", array="sinh", language="sinh"
)
square = unary("chlo.square", INEXACT, kernels.square, doc="x * x.", array="square")
tan = _function("chlo.tan", INEXACT, np.tan, doc="The tangent.", array="tan")
zeta = _function_of_two(
    "chlo.zeta", REAL, kernels.zeta, doc="The Hurwitz zeta function.", jax="lax.zeta", strict=True
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
