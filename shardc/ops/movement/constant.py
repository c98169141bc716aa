"""constant and iota: tensors that follow from attributes alone."""

from __future__ import annotations

import numpy as np

from shardc.graph.attrs import Dense
from shardc.graph.types import TensorType, name_of
from shardc.ops.definition import OpDef, Spelling, Syntax, Trait, of
from shardc.ops.elementwise.types import check_class
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels

_X = TensorType((8, 4), "f32")


def _constant(op: UntypedOp) -> Types:
    """The type of the attribute `value`; the stated one for elements that NumPy has no type of."""
    op.arity(0)
    value = op.get("value", Dense)
    name = name_of(value.data.dtype)
    return (op.stated() if name is None else TensorType(value.shape, name),)


def _iota(op: UntypedOp) -> Types:
    op.arity(0)
    result = op.stated()
    op.dimension("iota_dimension", result.rank)
    check_class(op, result, "iufc")
    return (result,)


constant = define(
    OpDef(
        name="stablehlo.constant",
        doc="`stablehlo.constant dense<0.0> : tensor<4xf32>`.",
        infer=_constant,
        meaning=kernel(kernels.constant, "value"),
        traits=frozenset((Trait.SOURCE,)),
        syntax=Syntax((), ("output",), attrs={"value": "dense"}),
        example=of("stablehlo.constant", [], _X, value=Dense(np.zeros((), np.float32), _X.shape)),
        spelling=Spelling(variable="table"),
    )
)
iota = define(
    OpDef(
        name="stablehlo.iota",
        doc="`stablehlo.iota dim = 0 : tensor<4x8xi32>`: 0, 1, 2, … along a dimension.",
        infer=_iota,
        meaning=kernel(kernels.iota, "iota_dimension", shape=True, dtype=True),
        traits=frozenset((Trait.SOURCE,)),
        syntax=Syntax(
            (),
            ("output",),
            attrs={"iota_dimension": "int"},
            format="`dim` `=` $iota_dimension attr-dict `:` type($output)",
        ),
        example=of("stablehlo.iota", [], _X, iota_dimension=0),
        spelling=Spelling(variable="places"),
    )
)
