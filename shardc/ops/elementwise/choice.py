"""Elementwise operations whose operands have different types, or which have attributes or a body."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardc.graph import Op, TensorType
from shardc.ops.definition import CHOOSES, COMPUTES, FREE, SELECTS, Spelling, Syntax, Trait, of
from shardc.ops.elementwise import rules, types
from shardc.ops.elementwise.make import structured
from shardc.ops.formats import FUNCTIONAL, SAME_TYPE
from shardc.semantics import elementwise as kernels
from shardc.semantics.arrays import Array, Body

_X = TensorType((8, 4), "f32")
_SCALAR = TensorType((), "f32")


def _map(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return [np.broadcast_to(bodies[0](*arrays)[0], op.results[0].shape)]


def _convert(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return [kernels.convert(arrays[0], dtype=op.results[0].numpy)]


clamp = structured(
    "stablehlo.clamp",
    kernels.clamp,
    rules.clamp,
    types.clamped,
    doc="x, but at least low and at most high: `stablehlo.clamp %low, %x, %high : tensor<4xf32>`.",
    syntax=Syntax(("min", "operand", "max"), format=f"$min `,` $operand `,` $max attr-dict {SAME_TYPE}"),
    example=of("stablehlo.clamp", [_SCALAR, _X, _SCALAR], _X),
    work=CHOOSES,
)
compare = structured(
    "stablehlo.compare",
    kernels.compare,
    rules.opaque,
    types.comparison,
    keys=("comparison_direction", "compare_type"),
    doc="`stablehlo.compare LT, %0, %1, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>`.",
    syntax=Syntax(
        ("lhs", "rhs"),
        attrs={"comparison_direction": "comparison_direction", "compare_type": "comparison_type?"},
        format=f"$comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict {FUNCTIONAL}",
    ),
    example=of("stablehlo.compare", [_X, _X], _X.with_dtype("bool"), comparison_direction="LT"),
    work=COMPUTES,
    spelling=Spelling(called="a comparison", variable="mask"),
)
complex_ = structured(
    "stablehlo.complex",
    kernels.complex_,
    rules.complex_of,
    types.complex_of,
    doc="`stablehlo.complex %re, %im : tensor<4xcomplex<f32>>`.",
    syntax=Syntax(
        ("lhs", "rhs"), format="operands attr-dict `:` custom<ComplexOpType>(type(operands), type(results))"
    ),
    example=of("stablehlo.complex", [_X, _X], _X.with_dtype("c64")),
    spelling=Spelling(numpy="ops.complex_", jax="lax.complex", strict=True),
    work=COMPUTES,
)
convert = structured(
    "stablehlo.convert",
    None,
    rules.convert,
    types.converted,
    meaning=_convert,
    doc="Another dtype, floats truncated: `stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xi32>`.",
    syntax=Syntax(("operand",), format=f"$operand attr-dict {SAME_TYPE}"),
    example=of("stablehlo.convert", [_X.with_dtype("bf16")], _X),
    work=FREE,
    traits=(
        Trait.ELEMENTWISE,
        Trait.VIEW,
        Trait.EXCERPT,
    ),
    spelling=Spelling(called="astype"),
)
map_ = structured(
    "stablehlo.map",
    None,
    rules.opaque,
    types.mapped,
    meaning=_map,
    doc="Applies a body over scalars to every element.",
    syntax=Syntax(("*inputs",), attrs={"dimensions": "ints"}, regions=("computation",)),
    example=of("stablehlo.map", [_X, _X], _X, dimensions=(0, 1)),
    work=COMPUTES,
    traits=(),
)
reduce_precision = structured(
    "stablehlo.reduce_precision",
    kernels.reduce_precision,
    rules.increasing,
    types.rounded,
    keys=("exponent_bits", "mantissa_bits"),
    doc="Rounded to fewer bits: `stablehlo.reduce_precision %0, format = e5m10 : tensor<4xf32>`.",
    syntax=Syntax(
        ("operand",),
        ("output",),
        attrs={"exponent_bits": "i32", "mantissa_bits": "i32"},
        format=(
            "$operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) "
            f"attr-dict {SAME_TYPE}"
        ),
    ),
    example=of("stablehlo.reduce_precision", [_X], _X, exponent_bits=5, mantissa_bits=10),
    work=COMPUTES,
)
select = structured(
    "stablehlo.select",
    kernels.select,
    rules.select,
    types.choice,
    doc="a where p holds, else b: `stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>`.",
    syntax=Syntax(
        ("pred", "on_true", "on_false"),
        format="operands attr-dict `:` custom<SelectOpType>(type(operands), type(results))",
    ),
    example=of("stablehlo.select", [_X.with_dtype("bool"), _X, _X], _X),
    work=SELECTS,
    spelling=Spelling(called="where", variable="chosen"),
)
