"""The group's blocks are combined elementwise."""

from __future__ import annotations

from shardc.graph import Op
from shardc.ops.collective.blocks import combined, per_device
from shardc.ops.definition import Spelling, Trait
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import pointwise


def _rule(op: Op) -> FactorRule:
    """Elementwise over the devices; a sum of partial sums is one too, and so on."""
    if op.attrs["kind"] == "sum":
        return pointwise(op, linear=[[0]])
    return pointwise(op, max_only=[[0]]) if op.attrs["kind"] == "max" else pointwise(op, min_only=[[0]])


all_reduce = per_device(
    "spmd.all_reduce",
    combined,
    _rule,
    title="all-reduce",
    doc="Combines the group's blocks elementwise by `kind` (sum, max, min); every device gets the result.",
    attrs={"kind": "str"},
    sends=lambda b, n: -(-2 * b * (n - 1) // n),
    steps=lambda n: 2 * (n - 1),
    kind="sum",
    traits=(Trait.COMBINES,),
    spelling=Spelling(variable="total"),
)
