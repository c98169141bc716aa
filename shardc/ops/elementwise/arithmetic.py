"""Operations of two operands of one type."""

from __future__ import annotations

import numpy as np

from shardc.ops.definition import APPROXIMATES, CHOOSES, Takes
from shardc.ops.elementwise import rules
from shardc.ops.elementwise.make import ANY, INEXACT, INTEGER, LOGICAL, NUMBER, binary
from shardc.semantics import elementwise as kernels

add = binary("stablehlo.add", ANY, np.add, rules.add, doc="x + y; `or` for truth values.", array="+")
and_ = binary(
    "stablehlo.and",
    LOGICAL,
    np.bitwise_and,
    rules.both,
    doc="Bitwise, or of truth values.",
    array="&",
    language="logical_and",
    takes=Takes.TRUTHS,
)
atan2 = binary(
    "stablehlo.atan2",
    INEXACT,
    kernels.atan2,
    doc="The angle of the point (y, x).",
    array="arctan2",
    language="arctan2",
    work=APPROXIMATES,
)
divide = binary(
    "stablehlo.divide",
    NUMBER,
    kernels.divide,
    rules.divide,
    doc="x / y; integers are truncated towards zero.",
    language="divide",
)
maximum = binary(
    "stablehlo.maximum",
    ANY,
    np.maximum,
    rules.maximum,
    doc="The greater; NaN wins.",
    array="maximum",
    language="maximum",
    takes=Takes.ALIKE,
    work=CHOOSES,
)
minimum = binary(
    "stablehlo.minimum",
    ANY,
    np.minimum,
    rules.minimum,
    doc="The lesser; NaN wins.",
    array="minimum",
    language="minimum",
    takes=Takes.ALIKE,
    work=CHOOSES,
)
multiply = binary(
    "stablehlo.multiply", ANY, np.multiply, rules.multiply, doc="x * y; `and` for truth values.", array="*"
)
mulhi = binary(
    "chlo.mulhi",
    INTEGER,
    kernels.mulhi,
    doc="The upper half of the bits of x * y.",
    jax="lax.mulhi",
    strict=True,
)
or_ = binary(
    "stablehlo.or",
    LOGICAL,
    np.bitwise_or,
    rules.either,
    doc="Bitwise, or of truth values.",
    array="|",
    language="logical_or",
    takes=Takes.TRUTHS,
)
power = binary(
    "stablehlo.power", NUMBER, kernels.power, doc="x to the y.", called="a power", work=APPROXIMATES
)
remainder = binary(
    "stablehlo.remainder",
    NUMBER,
    kernels.remainder,
    doc="What division leaves; it has the sign of x.",
    jax="lax.rem",
    strict=True,
)
shift_left = binary("stablehlo.shift_left", INTEGER, kernels.shift_left, doc="x << y.")
shift_right_arithmetic = binary(
    "stablehlo.shift_right_arithmetic",
    INTEGER,
    kernels.shift_right_arithmetic,
    doc="x >> y, the sign kept.",
)
shift_right_logical = binary(
    "stablehlo.shift_right_logical",
    INTEGER,
    kernels.shift_right_logical,
    doc="x >> y, zeros from the left.",
)
subtract = binary("stablehlo.subtract", NUMBER, np.subtract, rules.subtract, doc="x - y.", array="-")
xor = binary(
    "stablehlo.xor",
    LOGICAL,
    np.bitwise_xor,
    doc="Bitwise, or of truth values.",
    array="^",
    language="logical_xor",
    takes=Takes.TRUTHS,
)
