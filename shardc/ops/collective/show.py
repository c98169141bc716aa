"""What a program shows to whoever runs it."""

from __future__ import annotations

from shardc.graph import Op
from shardc.ops.collective.blocks import BLOCK
from shardc.ops.definition import OpDef, Spelling, Syntax, Trait, of
from shardc.ops.meanings import nothing
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp


def _types(op: UntypedOp) -> Types:
    op.one()
    op.get("label", str)
    if op.get("device", int) < 0:
        raise op.error(f"has no device {op.attrs['device']}")
    return ()


def _rule(op: Op) -> FactorRule:
    """Any block can be shown; a partial result is no value yet."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        builder.factor(size, {0: dim})
    return builder.build()


print_ = define(
    OpDef(
        name="spmd.print",
        doc="Shows the block of one device, and in a global program of which tensor; `stop`: and waits.",
        infer=_types,
        rule=_rule,
        meaning=nothing,
        traits=frozenset((Trait.EFFECT, Trait.KEPT, Trait.SHOWS)),
        syntax=Syntax(
            ("operand",), (), attrs={"label": "str", "device": "int", "stop": "bool?", "whole": "str?"}
        ),
        spelling=Spelling(called="print"),
        example=of("spmd.print", [BLOCK], label="h", device=0),
    )
)
