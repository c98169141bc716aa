"""The group's blocks are combined, and each device keeps a part."""

from __future__ import annotations

from shardc.graph import Op
from shardc.ops.collective.all_slice import parts
from shardc.ops.collective.blocks import BLOCK, check_kind, per_device, resizing
from shardc.ops.definition import Spelling, Trait
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import integer
from shardc.ops.untyped import Types, UntypedOp


def _types(op: UntypedOp) -> Types:
    check_kind(op)
    return parts(op)


def _rule(op: Op) -> FactorRule:
    """The scattered dimension shrinks."""
    return resizing(op, (integer(op, "dim", 0),), ordered=False, linear=op.attrs["kind"] == "sum")


reduce_scatter = per_device(
    "spmd.reduce_scatter",
    _types,
    _rule,
    title="reduce-scatter",
    doc="Combines the group's blocks by `kind`; each device keeps its part of dimension `dim`.",
    attrs={"dim": "int", "kind": "str"},
    sends=lambda b, n: -(-b * (n - 1) // n),
    steps=lambda n: n - 1,
    result=BLOCK.with_shape((2, 4)),
    dim=0,
    kind="sum",
    traits=(Trait.COMBINES,),
    spelling=Spelling(variable="block"),
)
