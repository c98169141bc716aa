"""bitcast_convert: the same bits as another dtype."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import DTYPES, TensorType, bits_of
from shardc.ops.definition import OpDef, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels

_X = TensorType((8, 4), "f32")


def _types(op: UntypedOp) -> Types:
    operand, result = op.one(), op.stated()
    if operand.dtype not in DTYPES or result.dtype not in DTYPES:
        return (result,)
    wide, narrow = bits_of(operand.dtype), bits_of(result.dtype)
    if wide == narrow:
        expected = operand.shape
    elif wide > narrow:
        expected = (*operand.shape, wide // narrow)
    elif operand.shape and operand.shape[-1] == narrow // wide:
        expected = operand.shape[:-1]
    else:
        raise op.error(
            f"needs a last dimension of {narrow // wide} to widen to {result.dtype}, got {operand}"
        )
    if result.shape != expected:
        raise op.error(f"gives {TensorType(expected, result.dtype)}, not {result}")
    return (result,)


def _rule(op: Op) -> FactorRule:
    """Wider to narrower adds a minor dimension, narrower to wider removes one; it must be whole."""
    source, target = op.operands[0].shape, op.results[0].shape
    builder = RuleBuilder(op)
    for dim, size in enumerate(min(source, target, key=len)):
        builder.along(dim, size)
    if len(source) < len(target):
        builder.factor(target[-1], results={0: len(target) - 1}, kind=Kind.REPLICATE, plain=False)
    elif len(source) > len(target):
        builder.factor(source[-1], {0: len(source) - 1}, kind=Kind.REPLICATE, plain=False)
    return builder.build()


bitcast_convert = define(
    OpDef(
        name="stablehlo.bitcast_convert",
        doc="`stablehlo.bitcast_convert %0 : (tensor<4xf32>) -> tensor<4xi32>`: the same bits.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.bitcast_convert, shape=True, dtype=True),
        traits=frozenset(
            (
                Trait.MOVES,
                Trait.EXCERPT,
            )
        ),
        syntax=Syntax(("operand",), format=f"operands attr-dict {FUNCTIONAL}"),
        example=of("stablehlo.bitcast_convert", [_X], _X.with_dtype("i32")),
    )
)
