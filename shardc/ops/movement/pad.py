"""pad: a value around a tensor and between its elements; negative padding cuts."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, ints
from shardc.ops.untyped import Types, UntypedOp
from shardc.ops.windows.geometry import FARTHEST
from shardc.semantics import movement as kernels

_AMOUNTS = ("edge_padding_low", "edge_padding_high", "interior_padding")


def _types(op: UntypedOp) -> Types:
    operand, value = op.arity(2)
    if value != operand.with_shape(()):
        raise op.error(f"needs a padding value {operand.with_shape(())}, got {value}")
    low, high = op.integers("edge_padding_low"), op.integers("edge_padding_high")
    interior = op.integers("interior_padding", (0,) * operand.rank)
    for key, values in zip(_AMOUNTS, (low, high, interior), strict=True):
        op.check_length(key, values, operand.rank)
    shape: list[int] = []
    for dim, size in enumerate(operand.shape):
        if interior[dim] < 0:
            raise op.error(f"has interior_padding {interior[dim]} in dimension {dim}; it is at least 0")
        padded = low[dim] + size + max(size - 1, 0) * interior[dim] + high[dim]
        if padded < 0:
            raise op.error(f"leaves {padded} elements of dimension {dim} of {operand}")
        if max(abs(low[dim]), abs(high[dim]), interior[dim]) > FARTHEST:
            raise op.error(f"reaches over dimension {dim} of {operand} by more than 2^31 elements")
        shape.append(padded)
    return (operand.with_shape(tuple(shape)),)


def _rule(op: Op) -> FactorRule:
    """The second operand is the padding. Padding that keeps the size (-1, 1) shifts, so it is not plain."""
    shape = op.operands[0].shape
    zeros = (0,) * len(shape)
    amounts = [ints(op, key, zeros) for key in _AMOUNTS]
    builder = RuleBuilder(op)
    for dim, (size, padded) in enumerate(zip(shape, op.results[0].shape, strict=True)):
        if size == padded:
            builder.along(dim, size, plain=None if not any(a[dim] for a in amounts) else False)
        else:
            builder.along(dim, size, Kind.PERMUTATION)
    return builder.build(linear=[[0, 1]], monotone=[[0, 1]])


pad = define(
    OpDef(
        name="stablehlo.pad",
        doc="`stablehlo.pad %0, %v, low = [1], high = [2], interior = [0] : (…) -> tensor<7xf32>`.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.pad, *_AMOUNTS),
        traits=frozenset((Trait.MOVES,)),
        syntax=Syntax(
            ("operand", "padding_value"),
            attrs=dict.fromkeys(_AMOUNTS, "ints"),
            format=(
                "$operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` "
                f"$edge_padding_high `,` `interior` `=` $interior_padding attr-dict {FUNCTIONAL}"
            ),
        ),
        example=of(
            "stablehlo.pad",
            [TensorType((8, 4), "f32"), TensorType((), "f32")],
            TensorType((9, 4), "f32"),
            edge_padding_low=(1, 0),
            edge_padding_high=(0, 0),
            interior_padding=(0, 0),
        ),
    )
)
