"""Blocks that become partial results: nothing is sent."""

from __future__ import annotations

from shardc.graph import Op
from shardc.ops.collective.blocks import combined, per_device
from shardc.ops.definition import Trait
from shardc.ops.meanings import identity
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import pointwise


def _rule(op: Op) -> FactorRule:
    """The other devices hold what changes nothing."""
    return pointwise(op, linear=[[0]] if op.attrs["kind"] == "sum" else [])


to_partial = per_device(
    "spmd.to_partial",
    combined,
    _rule,
    doc="Keeps the block at position 0; elsewhere it becomes the identity of `kind`. Sends nothing.",
    attrs={"kind": "str"},
    kind="sum",
)
as_partial = per_device(
    "spmd.as_partial",
    combined,
    _rule,
    doc="The same block, typed as partial: what is meant is the blocks of the group combined by `kind`.",
    attrs={"kind": "str"},
    meaning=identity,
    traits=(Trait.IDENTITY,),
    kind="sum",
)
