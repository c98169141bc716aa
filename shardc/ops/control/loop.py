"""while: the body runs on the carried values as long as the condition holds for them."""

from __future__ import annotations

from shardc.graph import TensorType
from shardc.ops.definition import OpDef, Spelling, Trait
from shardc.ops.registry import define
from shardc.ops.untyped import Types, UntypedOp


def _types(op: UntypedOp) -> Types:
    """The carried values: the body returns their types, the condition a truth value."""
    op.check_region(0, (TensorType((), "bool"),))
    op.check_region(1, op.operands)
    return op.operands


while_ = define(
    OpDef(
        name="stablehlo.while",
        doc="Repeats the body on the carried values as long as the condition holds for them.",
        infer=_types,
        traits=frozenset(
            (
                Trait.REGION,
                Trait.LOOP,
                Trait.SAME_LAYOUT,
            )
        ),
        spelling=Spelling(called="the loop"),
    )
)
