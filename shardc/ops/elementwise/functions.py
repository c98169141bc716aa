"""Functions of one operand."""

from __future__ import annotations

from functools import partial

import numpy as np

from shardc.ops.definition import FREE, Syntax, Takes
from shardc.ops.elementwise import rules
from shardc.ops.elementwise.make import INEXACT, INTEGER, LOGICAL, NUMBER, REAL, SIGNED, unary
from shardc.ops.elementwise.rules import complex_parts, increasing, invert
from shardc.ops.elementwise.types import magnitude, part, to_bool
from shardc.ops.formats import FUNCTIONAL
from shardc.semantics import elementwise as kernels

abs_ = unary(
    "stablehlo.abs",
    SIGNED,
    kernels.absolute,
    infer=magnitude,
    doc="|x|: the magnitude; real for complex operands.",
    jax="jnp.abs",
)
cbrt = unary(
    "stablehlo.cbrt",
    REAL,
    np.cbrt,
    increasing,
    doc="The cube root.",
    array="cbrt",
    language="cbrt",
    accuracy=True,
)
ceil = unary(
    "stablehlo.ceil",
    REAL,
    np.ceil,
    increasing,
    doc="The least integer not below x.",
    array="ceil",
    language="ceil",
    takes=Takes.ROUNDS,
)
cosine = unary("stablehlo.cosine", INEXACT, np.cos, doc="cos x.", array="cos", language="cos", accuracy=True)
count_leading_zeros = unary(
    "stablehlo.count_leading_zeros",
    INTEGER,
    kernels.count_leading_zeros,
    doc="The number of zero bits before the first one.",
    jax="lax.clz",
)
exponential = unary(
    "stablehlo.exponential",
    INEXACT,
    np.exp,
    increasing,
    doc="e to the x.",
    array="exp",
    language="exp",
    accuracy=True,
    variable="exps",
)
exponential_minus_one = unary(
    "stablehlo.exponential_minus_one",
    INEXACT,
    kernels.exponential_minus_one,
    increasing,
    doc="e to the x, minus 1, exact near 0.",
    array="expm1",
    language="expm1",
    accuracy=True,
)
floor = unary(
    "stablehlo.floor",
    REAL,
    np.floor,
    increasing,
    doc="The greatest integer not above x.",
    array="floor",
    language="floor",
    takes=Takes.ROUNDS,
)
imag = unary(
    "stablehlo.imag",
    INEXACT,
    np.imag,
    complex_parts,
    infer=part,
    doc="The imaginary part.",
    array="imag",
    work=FREE,
    dtype="c64",
)
is_finite = unary(
    "stablehlo.is_finite",
    REAL,
    np.isfinite,
    infer=partial(to_bool, 1, REAL),
    doc="Neither infinite nor NaN: `stablehlo.is_finite %0 : (tensor<4xf32>) -> tensor<4xi1>`.",
    array="isfinite",
    language="isfinite",
    syntax=Syntax(("x",), ("y",), format=f"$x attr-dict {FUNCTIONAL}"),
)
log = unary(
    "stablehlo.log", INEXACT, np.log, doc="The natural logarithm.", array="log", language="log", accuracy=True
)
log_plus_one = unary(
    "stablehlo.log_plus_one",
    INEXACT,
    kernels.log_plus_one,
    doc="log(1 + x), exact near 0.",
    array="log1p",
    language="log1p",
    accuracy=True,
)
logistic = unary(
    "stablehlo.logistic",
    INEXACT,
    kernels.logistic,
    increasing,
    doc="1 / (1 + e to the -x).",
    jax="jax.nn.sigmoid",
    language="sigmoid",
    accuracy=True,
)
negate = unary("stablehlo.negate", NUMBER, np.negative, rules.negate, doc="-x.", array="-")
not_ = unary(
    "stablehlo.not",
    LOGICAL,
    np.invert,
    invert,
    doc="Every bit, or the truth value, inverted.",
    array="~",
    language="logical_not",
    takes=Takes.TRUTHS,
)
popcnt = unary(
    "stablehlo.popcnt",
    INTEGER,
    kernels.popcnt,
    doc="The number of bits that are one.",
    jax="lax.population_count",
)
real = unary(
    "stablehlo.real",
    INEXACT,
    np.real,
    complex_parts,
    infer=part,
    doc="The real part.",
    array="real",
    work=FREE,
    dtype="c64",
)
round_nearest_afz = unary(
    "stablehlo.round_nearest_afz",
    REAL,
    kernels.round_nearest_afz,
    increasing,
    doc="The nearest integer, ties away from zero.",
    jax="lax.round",
)
round_nearest_even = unary(
    "stablehlo.round_nearest_even",
    REAL,
    np.rint,
    increasing,
    doc="The nearest integer, ties to even.",
    jax="jnp.round",
    numpy="np.rint",
    language="round",
    takes=Takes.ROUNDS,
)
rsqrt = unary(
    "stablehlo.rsqrt",
    INEXACT,
    kernels.rsqrt,
    doc="1 / sqrt x.",
    jax="lax.rsqrt",
    language="rsqrt",
    accuracy=True,
)
sign = unary(
    "stablehlo.sign",
    SIGNED,
    kernels.sign,
    increasing,
    doc="-1, 0 or 1; x / |x| for complex operands.",
    jax="jnp.sign",
    language="sign",
    takes=Takes.NUMBERS,
)
sine = unary("stablehlo.sine", INEXACT, np.sin, doc="sin x.", array="sin", language="sin", accuracy=True)
sqrt = unary(
    "stablehlo.sqrt", INEXACT, np.sqrt, doc="The square root.", array="sqrt", language="sqrt", accuracy=True
)
tan = unary("stablehlo.tan", INEXACT, np.tan, doc="tan x.", array="tan", language="tan", accuracy=True)
tanh = unary(
    "stablehlo.tanh",
    INEXACT,
    np.tanh,
    increasing,
    doc="tanh x.",
    array="tanh",
    language="tanh",
    accuracy=True,
)
