"""Every device sends a part of its block to every other one of the group."""

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
    operand, count = op.one(), size_of(op.axes("axes"))
    split = op.dimension("split_dim", operand.rank)
    concat = op.dimension("concat_dim", operand.rank)
    return (resized(op, resized(op, operand, split, parts=count), concat, times=count),)


def _rule(op: Op) -> FactorRule:
    """One dimension shrinks and one grows; if they are the same, its parts change places."""
    dims = (integer(op, "split_dim", 0), integer(op, "concat_dim", 0))
    return resizing(op, tuple(dict.fromkeys(dims)))


all_to_all = per_device(
    "spmd.all_to_all",
    _types,
    _rule,
    title="all-to-all",
    doc="Sends part i of `split_dim` to position i; concatenates what arrives along `concat_dim`.",
    attrs={"split_dim": "int", "concat_dim": "int"},
    sends=lambda b, n: -(-b * (n - 1) // n),
    steps=lambda n: n - 1,
    result=BLOCK.with_shape((2, 16)),
    split_dim=0,
    concat_dim=1,
    spelling=Spelling(variable="exchanged"),
)
