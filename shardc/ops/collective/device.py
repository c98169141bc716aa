"""Which device it is, and whether a block is typed as differing between devices: nothing is sent."""

from __future__ import annotations

from shardc.graph import Op, TensorType
from shardc.ops.collective.blocks import GROUP, grouped, per_device
from shardc.ops.definition import OpDef, Spelling, Syntax, Trait, of
from shardc.ops.elementwise.rules import identity as passes
from shardc.ops.meanings import identity
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import pointwise
from shardc.ops.untyped import Types, UntypedOp

_POSITION = TensorType((), "i32")


def _types(op: UntypedOp) -> Types:
    op.arity(0)
    op.axes("axes")
    return (_POSITION,)


def _rule(op: Op) -> FactorRule:
    """A number."""
    return pointwise(op)


axis_index = define(
    OpDef(
        name="spmd.axis_index",
        doc="The device's position in its group, as i32.",
        infer=_types,
        rule=_rule,
        syntax=Syntax(attrs={"axes": "text"}),
        example=of("spmd.axis_index", [], _POSITION, axes=GROUP),
        traits=frozenset((Trait.ALONG_AXES,)),
        spelling=Spelling(variable="position"),
    )
)
vary = per_device(
    "spmd.vary",
    grouped,
    passes,
    doc="The same block, typed as differing between the devices of the group.",
    meaning=identity,
    traits=(Trait.IDENTITY,),
    spelling=Spelling(called="pcast"),
)
assume_equal = per_device(
    "spmd.assume_equal",
    grouped,
    passes,
    doc="The same block, typed as equal in the group: a promise of the program, which running it checks.",
    traits=(Trait.IDENTITY,),
    spelling=Spelling(called="check=False"),
)
