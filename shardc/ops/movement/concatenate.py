"""concatenate: tensors one after another along a dimension."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Spelling, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, integer
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels


def _types(op: UntypedOp) -> Types:
    if not op.operands:
        raise op.error("needs at least one operand")
    first = op.operands[0]
    dim = op.dimension("dimension", first.rank)
    for other in op.operands[1:]:
        if other.dtype != first.dtype or other.rank != first.rank:
            raise op.error(f"needs equal dtypes and ranks, got {first} and {other}")
        for index in range(first.rank):
            if index != dim and other.shape[index] != first.shape[index]:
                raise op.error(
                    f"along dimension {dim} needs dimension {index} equal, got {first} and {other}"
                )
    size = sum(type.shape[dim] for type in op.operands)
    return (first.with_shape((*first.shape[:dim], size, *first.shape[dim + 1 :])),)


def _rule(op: Op) -> FactorRule:
    """The joined dimension has the result's size and must be whole.

    sdy makes it a permutation where the operands are slices, which an operation alone does not show.
    """
    joined = integer(op, "dimension", 0)
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.results[0].shape):
        builder.along(dim, size, Kind.REPLICATE if dim == joined else Kind.PASS)
    every = range(len(op.operands))
    return builder.build(linear=[every], monotone=[every])


concatenate = define(
    OpDef(
        name="stablehlo.concatenate",
        doc="`stablehlo.concatenate %0, %1, dim = 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>`.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.concatenate, "dimension"),
        traits=frozenset((Trait.MOVES,)),
        syntax=Syntax(
            ("*inputs",),
            attrs={"dimension": "int"},
            format=(
                f"custom<VariadicOperandWithAttribute>($inputs) `dim` `=` $dimension attr-dict {FUNCTIONAL}"
            ),
        ),
        example=of(
            "stablehlo.concatenate",
            [TensorType((8, 4), "f32"), TensorType((6, 4), "f32")],
            TensorType((14, 4), "f32"),
            dimension=0,
        ),
        spelling=Spelling(variable="joined"),
    )
)
