"""get_dimension_size: how long a dimension is."""

from __future__ import annotations

from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Syntax, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels

_COUNT = TensorType((), "i32")


def _types(op: UntypedOp) -> Types:
    op.dimension("dimension", op.one().rank)
    return (_COUNT,)


get_dimension_size = define(
    OpDef(
        name="stablehlo.get_dimension_size",
        doc="`stablehlo.get_dimension_size %0, dim = 0 : (tensor<4xf32>) -> tensor<i32>`.",
        infer=_types,
        meaning=kernel(kernels.get_dimension_size, "dimension"),
        syntax=Syntax(
            ("operand",),
            attrs={"dimension": "int"},
            format=f"$operand `,` `dim` `=` $dimension attr-dict {FUNCTIONAL}",
        ),
        example=of("stablehlo.get_dimension_size", [TensorType((8, 4), "f32")], _COUNT, dimension=0),
    )
)
