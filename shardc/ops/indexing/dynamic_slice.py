"""A block of the operand that begins where the start indices say."""

from __future__ import annotations

from shardc.graph import Op
from shardc.ops.definition import KEEPS, OpDef, Spelling, Syntax, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.indexing.indices import PLACE, ROWS, check_starts
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import ops as kernels


def _types(op: UntypedOp) -> Types:
    if not op.operands:
        raise op.error("needs an operand")
    operand = op.operands[0]
    check_starts(op, op.operands[1:], operand.rank)
    sizes = op.integers("slice_sizes")
    op.check_length("slice_sizes", sizes, operand.rank)
    for dim, size in enumerate(sizes):
        if not 0 <= size <= operand.shape[dim]:
            raise op.error(f"cannot take {size} of dimension {dim} of {operand}")
    return (operand.with_shape(sizes),)


def _rule(op: Op) -> FactorRule:
    """Dimensions that are sliced must be whole."""
    builder = RuleBuilder(op)
    for dim, (size, taken) in enumerate(zip(op.operands[0].shape, op.results[0].shape, strict=True)):
        whole = size == taken
        builder.along(dim, size, Kind.PASS if whole else Kind.REPLICATE, blocked=not whole)
    return builder.build(linear=[[0]], monotone=[[0]])


dynamic_slice = define(
    OpDef(
        name="stablehlo.dynamic_slice",
        doc="`stablehlo.dynamic_slice %0, %i, %j, sizes = [1, 4] : (…) -> tensor<1x4xf32>`, starts clamped.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.dynamic_slice, "slice_sizes"),
        work=KEEPS,
        syntax=Syntax(
            ("operand", "*start_indices"),
            attrs={"slice_sizes": "ints"},
            format=(
                "$operand `,` custom<VariadicOperandWithAttribute>($start_indices) `sizes` `=` $slice_sizes "
                f"attr-dict {FUNCTIONAL}"
            ),
        ),
        example=of(
            "stablehlo.dynamic_slice", [ROWS, PLACE, PLACE], ROWS.with_shape((2, 4)), slice_sizes=(2, 4)
        ),
        spelling=Spelling(variable="part"),
    )
)
