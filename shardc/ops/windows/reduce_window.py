"""reduce_window: the elements of each window combined, as pooling does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import Lying, OpDef, Rate, Syntax, Work, of, per_operand
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import partial_kind
from shardc.ops.untyped import Types, UntypedOp
from shardc.ops.windows.geometry import GEOMETRY, along_windows, cumulative_dims, windowed
from shardc.semantics import windows as kernels
from shardc.semantics.arrays import Array, Body
from shardc.semantics.reduction import UFUNCS


def _types(op: UntypedOp) -> Types:
    count = len(op.operands) // 2
    if not count or len(op.operands) % 2:
        raise op.error(f"takes inputs and as many initial values, got {len(op.operands)} operands")
    inputs, inits = op.operands[:count], op.operands[count:]
    rank = inputs[0].rank
    for operand, init in zip(inputs, inits, strict=True):
        if operand.shape != inputs[0].shape or init.shape or init.dtype != operand.dtype:
            raise op.error(f"needs an initial value {operand.with_shape(())} for {operand}, got {init}")
    window = op.integers("window_dimensions")
    op.check_length("window_dimensions", window, rank)
    ones = (1,) * rank
    shape = windowed(
        op,
        inputs[0].shape,
        window,
        op.integers("window_strides", ones),
        op.pairs("padding", ((0, 0),) * rank),
        op.integers("base_dilations", ones),
        op.integers("window_dilations", ones),
    )
    op.check_region(0, tuple(operand.with_shape(()) for operand in inputs))
    return tuple(operand.with_shape(shape) for operand in inputs)


def _rule(op: Op) -> FactorRule:
    """Inputs, then one scalar init each, which goes into every window."""
    builder = along_windows(op, op.results[0].shape)
    kind = partial_kind(op.combiner, op.results[0].dtype)
    every = range(len(op.operands))
    return builder.build(
        linear=[every] if kind == "sum" else [],
        max_only=[every] if kind == "max" else [],
        min_only=[every] if kind == "min" else [],
    )


def _rate(op: Op) -> Rate:
    return Rate.SERIAL if cumulative_dims(op) else Rate.OTHER


def _strided(op: Op, lying: Lying) -> int:
    """What is summed up along a dimension that is not that of the neighbours."""
    return op.operands[0].nbytes if {*cumulative_dims(op)} - {lying[0]} else 0


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    geometry: dict[str, Any] = {key: op.attrs[key] for key in GEOMETRY if key in op.attrs}
    if op.combiner in UFUNCS:
        return [kernels.reduce_window(arrays[0], arrays[1], kind=op.combiner, **geometry)]
    return kernels.reduce_window_with(arrays[:count], arrays[count:], bodies[0], **geometry)


reduce_window = define(
    OpDef(
        name="stablehlo.reduce_window",
        doc="Combines the elements of each window, as pooling does.",
        infer=_types,
        rule=_rule,
        meaning=_meaning,
        work=Work(per_operand, rate=_rate, strided=_strided),
        syntax=Syntax(
            ("*inputs", "*init_values"),
            ("*results_",),
            attrs={
                "window_dimensions": "ints",
                "window_strides": "ints?",
                "base_dilations": "ints?",
                "window_dilations": "ints?",
                "padding": "pairs?",
            },
            regions=("body",),
            same_sizes=True,
        ),
        example=of(
            "stablehlo.reduce_window",
            [TensorType((8, 4), "f32"), TensorType((), "f32")],
            TensorType((8, 2), "f32"),
            combiner="sum",
            window_dimensions=(1, 2),
            window_strides=(1, 2),
        ),
    )
)
