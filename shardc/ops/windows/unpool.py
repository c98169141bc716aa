"""shardc.unpool: the gradient of max pooling of a tensor that was padded, as JAX writes it."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import READS, OpDef, Syntax, of
from shardc.ops.registry import define
from shardc.ops.rule_builder import ints, pairs
from shardc.ops.untyped import Types, UntypedOp
from shardc.ops.windows.geometry import windowed
from shardc.ops.windows.select_and_scatter import scattering_rule
from shardc.semantics import movement, windows
from shardc.semantics.arrays import Array, Body

_X = TensorType((8, 4), "f32")
_NUMBER = TensorType((), "f32")


def _types(op: UntypedOp) -> Types:
    """Sources are those of a select_and_scatter of the padded operand."""
    operand, source, fill, init = op.arity(4)
    ones = (1,) * operand.rank
    window = op.integers("window_dimensions", ones)
    op.check_length("window_dimensions", window, operand.rank)
    strides, padding = op.integers("window_strides", ones), op.pairs("padding", ((0, 0),) * operand.rank)
    expected = operand.with_shape(windowed(op, operand.shape, window, strides, padding, ones, ones))
    if source != expected:
        raise op.error(f"needs one source for each window, {expected}, got {source}")
    if {fill, init} != {operand.with_shape(())} or min(map(min, padding), default=0) < 0:
        raise op.error(f"needs scalars of {operand.dtype}, and padding of at least 0")
    return (operand,)


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    operand, source, fill, init = arrays
    rank = operand.ndim
    ones, padding = (1,) * rank, pairs(op, "padding", rank)
    low = [below for below, _ in padding]
    padded = movement.pad(
        operand,
        fill,
        edge_padding_low=low,
        edge_padding_high=[above for _, above in padding],
        interior_padding=(0,) * rank,
    )
    found = windows.select_and_scatter(
        padded,
        source,
        init,
        *bodies,
        window_dimensions=ints(op, "window_dimensions", ones),
        window_strides=ints(op, "window_strides", ones),
    )
    return [found[tuple(slice(n, n + size) for n, size in zip(low, operand.shape, strict=True))]]


unpool = define(
    OpDef(
        name="shardc.unpool",
        doc="The part of a padded tensor's select_and_scatter that lies in the tensor.",
        infer=_types,
        rule=scattering_rule,
        meaning=_meaning,
        work=READS,
        syntax=Syntax(
            ("operand", "source", "fill", "init_value"),
            attrs={"window_dimensions": "ints?", "window_strides": "ints?", "padding": "pairs?"},
            regions=("select", "scatter"),
        ),
        example=of(
            "shardc.unpool",
            [_X, _X, _NUMBER, _NUMBER],
            _X,
            window_dimensions=(1, 3),
            padding=((0, 0), (1, 1)),
        ),
    )
)
