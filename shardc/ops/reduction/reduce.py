"""reduce: all elements along some dimensions combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import Lying, OpDef, Rate, Spelling, Syntax, Work, of, per_operand
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, ints, partial_kind
from shardc.ops.untyped import Types, UntypedOp, types_text
from shardc.semantics import reduction as kernels
from shardc.semantics.arrays import Array, Body
from shardc.semantics.reduction import UFUNCS


def _types(op: UntypedOp) -> Types:
    count = len(op.operands) // 2
    if not count or len(op.operands) % 2:
        raise op.error(f"takes inputs and as many initial values, got {len(op.operands)} operands")
    inputs, inits = op.operands[:count], op.operands[count:]
    dims = op.dimensions("dimensions", inputs[0].rank)
    for index, (operand, init) in enumerate(zip(inputs, inits, strict=True)):
        if operand.shape != inputs[0].shape:
            raise op.error(f"needs inputs of one shape, got {types_text(inputs)}")
        if init.shape or init.dtype not in (operand.dtype, op.result_dtype(operand.dtype, index)):
            raise op.error(f"needs an initial value {operand.with_shape(())} for {operand}, got {init}")
    kept = tuple(size for dim, size in enumerate(inputs[0].shape) if dim not in dims)
    results = tuple(TensorType(kept, init.dtype) for init in inits)
    op.check_region(0, tuple(result.with_shape(()) for result in results))
    return results


def _rule(op: Op) -> FactorRule:
    """Inputs, then one scalar init each. An init adds to a sum once, wherever the reduced dimensions lie."""
    count = len(op.results)
    inputs, every = range(count), range(2 * count)
    kept = 0
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        operands = dict.fromkeys(inputs, dim)
        if dim in ints(op, "dimensions"):
            builder.factor(size, operands, kind=Kind.REDUCTION)
        else:
            builder.factor(size, operands, dict.fromkeys(inputs, kept))
            kept += 1
    kind = partial_kind(op.combiner, op.results[0].dtype)
    return builder.build(
        reduction=kind,
        linear=[every] if kind == "sum" else [],
        max_only=[every] if kind == "max" else [],
        min_only=[every] if kind == "min" else [],
        once=every[count:] if kind == "sum" else (),
    )


def _rate(op: Op) -> Rate:
    """Several tensors at once, as argmax has them, are compared one element after the other."""
    return Rate.OTHER if len(op.results) == 1 else Rate.ARGMAX


def _strided(op: Op, lying: Lying) -> int:
    """What is compared, element after element, along a dimension that is not that of the neighbours."""
    along = len(op.results) == 1 or lying[0] in ints(op, "dimensions")
    return 0 if along else op.operands[0].nbytes


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    dimensions: Any = op.attrs["dimensions"]
    if op.combiner in UFUNCS:
        return [kernels.reduce(arrays[0], arrays[1], dimensions=dimensions, kind=op.combiner)]
    return kernels.reduce_with(arrays[:count], arrays[count:], bodies[0], dimensions=dimensions)


reduce = define(
    OpDef(
        name="stablehlo.reduce",
        doc="Combines all elements along `dimensions`, starting from the initial value.",
        infer=_types,
        rule=_rule,
        meaning=_meaning,
        work=Work(per_operand, rate=_rate, strided=_strided),
        syntax=Syntax(
            ("*inputs", "*init_values"),
            ("*results_",),
            attrs={"dimensions": "ints"},
            regions=("body",),
            same_sizes=True,
        ),
        example=of(
            "stablehlo.reduce",
            [TensorType((8, 4), "f32"), TensorType((), "f32")],
            TensorType((8,), "f32"),
            combiner="sum",
            dimensions=(1,),
        ),
        spelling=Spelling(variable="reduced"),
    )
)
