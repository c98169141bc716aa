"""A device keeps its own part of a block that all devices of the group have."""

from __future__ import annotations

from shardc.graph import Op
from shardc.layout.axes import size_of
from shardc.ops.collective.blocks import BLOCK, per_device, resizing
from shardc.ops.definition import KEEPS, Spelling
from shardc.ops.result_types import resized
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import integer
from shardc.ops.untyped import Types, UntypedOp


def parts(op: UntypedOp) -> Types:
    """One of as many parts of dimension `dim` as the group has devices."""
    operand = op.one()
    dim = op.dimension("dim", operand.rank)
    return (resized(op, operand, dim, parts=size_of(op.axes("axes"))),)


def _rule(op: Op) -> FactorRule:
    """The sliced dimension shrinks."""
    return resizing(op, (integer(op, "dim", 0),))


all_slice = per_device(
    "spmd.all_slice",
    parts,
    _rule,
    doc="Keeps the device's own part of dimension `dim`, which must divide. Sends nothing.",
    attrs={"dim": "int"},
    result=BLOCK.with_shape((2, 4)),
    dim=0,
    spelling=Spelling(called="block", variable="block"),
    work=KEEPS,
)
