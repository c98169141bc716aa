"""select_and_scatter: the gradient of pooling by a maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import READS, OpDef, Syntax, of
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.ops.windows.geometry import GEOMETRY, along_windows, window_of, windowed
from shardc.semantics import windows as kernels
from shardc.semantics.arrays import Array, Body

_X = TensorType((8, 4), "f32")


def _types(op: UntypedOp) -> Types:
    operand, source, init = op.arity(3)
    ones = (1,) * operand.rank
    window = op.integers("window_dimensions", ones)
    op.check_length("window_dimensions", window, operand.rank)
    strides = op.integers("window_strides", ones)
    padding = op.pairs("padding", ((0, 0),) * operand.rank)
    expected = operand.with_shape(windowed(op, operand.shape, window, strides, padding, ones, ones))
    if source != expected:
        raise op.error(f"needs one source for each window, {expected}, got {source}")
    if init != operand.with_shape(()):
        raise op.error(f"needs an initial value {operand.with_shape(())}, got {init}")
    return (operand,)


def scattering_rule(op: Op) -> FactorRule:
    """Operand, source (one element per window), scalars: a block of the one and of the other."""
    return along_windows(op, op.operands[1].shape).build()


def _spreads(op: Op) -> FactorRule:
    """Shardy's rule: what windows run along is not tied to what they are numbered along."""
    builder = RuleBuilder(op)
    for dim, (size, count) in enumerate(zip(op.operands[0].shape, op.operands[1].shape, strict=True)):
        if window_of(op, dim).is_single:
            builder.along(dim, size)
        else:
            builder.factor(count, {1: dim}, kind=Kind.REPLICATE)
            builder.factor(size, {0: dim}, {0: dim}, Kind.PERMUTATION)
    return builder.build()


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    geometry: dict[str, Any] = {key: op.attrs[key] for key in GEOMETRY if key in op.attrs}
    operand, source, init = arrays
    select, scatter = bodies
    return [kernels.select_and_scatter(operand, source, init, select, scatter, **geometry)]


select_and_scatter = define(
    OpDef(
        name="stablehlo.select_and_scatter",
        doc="Adds each source element where its window's selected element is: the gradient of max pooling.",
        infer=_types,
        rule=scattering_rule,
        spreads=_spreads,
        meaning=_meaning,
        work=READS,
        syntax=Syntax(
            ("operand", "source", "init_value"),
            attrs={"window_dimensions": "ints?", "window_strides": "ints?", "padding": "pairs?"},
            regions=("select", "scatter"),
        ),
        example=of(
            "stablehlo.select_and_scatter",
            [_X, TensorType((8, 2), "f32"), TensorType((), "f32")],
            _X,
            window_dimensions=(1, 2),
            window_strides=(1, 2),
        ),
    )
)
