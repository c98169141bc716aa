"""broadcast_in_dim: dimensions that are repeated or new."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import RuleBuilder, ints
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels


def _types(op: UntypedOp) -> Types:
    operand, result = op.one(), op.stated()
    dims = op.dimensions("broadcast_dimensions", result.rank)
    op.check_length("broadcast_dimensions", dims, operand.rank)
    if operand.dtype != result.dtype:
        raise op.error(f"keeps the dtype, got {operand} to {result}")
    for index, dim in enumerate(dims):
        if operand.shape[index] not in (1, result.shape[dim]):
            raise op.error(
                f"cannot put dimension {index} of {operand}, of size {operand.shape[index]}, "
                f"in dimension {dim} of {result}, of size {result.shape[dim]}"
            )
    return (result,)


def _rule(op: Op) -> FactorRule:
    """A dimension of size 1 that grows has a factor of its own on either side."""
    shape = op.operands[0].shape
    source = {out: dim for dim, out in enumerate(ints(op, "broadcast_dimensions"))}
    builder = RuleBuilder(op)
    for out, size in enumerate(op.results[0].shape):
        dim = source.get(out)
        if dim is not None and shape[dim] == 1 != size:
            builder.factor(1, {0: dim})
            dim = None
        builder.factor(size, {} if dim is None else {0: dim}, {0: out})
    return builder.build(linear=[[0]], monotone=[[0]])


broadcast_in_dim = define(
    OpDef(
        name="stablehlo.broadcast_in_dim",
        doc=(
            "`stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>`: dimension i "
            "of the operand becomes dimension dims[i]; size 1 is repeated, other dimensions are new."
        ),
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.broadcast_in_dim, "broadcast_dimensions", shape=True),
        traits=frozenset(
            (
                Trait.MOVES,
                Trait.VIEW,
            )
        ),
        syntax=Syntax(
            ("operand",),
            attrs={"broadcast_dimensions": "ints"},
            format=f"$operand `,` `dims` `=` $broadcast_dimensions attr-dict {FUNCTIONAL}",
        ),
        example=of(
            "stablehlo.broadcast_in_dim",
            [TensorType((4,), "f32")],
            TensorType((8, 4), "f32"),
            broadcast_dimensions=(1,),
        ),
    )
)
