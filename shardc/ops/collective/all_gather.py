"""The group's blocks are concatenated."""

from __future__ import annotations

from shardc.graph import Op
from shardc.layout.axes import size_of
from shardc.ops.collective.blocks import BLOCK, per_device, resizing
from shardc.ops.definition import Spelling
from shardc.ops.result_types import resized
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import integer
from shardc.ops.untyped import Types, UntypedOp


def _types(op: UntypedOp) -> Types:
    operand = op.one()
    dim = op.dimension("dim", operand.rank)
    return (resized(op, operand, dim, times=size_of(op.axes("axes"))),)


def _rule(op: Op) -> FactorRule:
    """The gathered dimension grows."""
    return resizing(op, (integer(op, "dim", 0),))


all_gather = per_device(
    "spmd.all_gather",
    _types,
    _rule,
    title="all-gather",
    doc="Concatenates the group's blocks along `dim`, by position; `invariant`: typed as equal everywhere.",
    attrs={"dim": "int", "invariant": "bool"},
    sends=lambda b, n: b * (n - 1),
    steps=lambda n: n - 1,
    result=BLOCK.with_shape((8, 16)),
    dim=1,
    invariant=True,
    spelling=Spelling(variable="gathered"),
)
