"""The optimisation barrier, and the end of a body."""

from __future__ import annotations

from shardc.ops import result_types as types
from shardc.ops.definition import OpDef, Syntax, Trait
from shardc.ops.meanings import identity
from shardc.ops.registry import define

optimization_barrier = define(
    OpDef(
        name="stablehlo.optimization_barrier",
        doc="`stablehlo.optimization_barrier %0, %1 : tensor<4xf32>, tensor<2xf32>`: nothing crosses it.",
        infer=types.operands,
        meaning=identity,
        traits=frozenset(
            (
                Trait.IDENTITY,
                Trait.SAME_LAYOUT,
            )
        ),
    )
)
return_ = define(
    OpDef(
        name="stablehlo.return",
        doc="`stablehlo.return %0 : tensor<f32>` ends a body.",
        infer=types.nothing,
        traits=frozenset((Trait.TERMINATOR,)),
        syntax=Syntax(("*values",), (), format="$values attr-dict (`:` type($values)^)?", tensors=False),
    )
)
