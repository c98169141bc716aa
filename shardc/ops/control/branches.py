"""case and if: one of several regions runs."""

from __future__ import annotations

from functools import partial

from shardc.graph import TensorType
from shardc.ops.definition import OpDef, Spelling, Syntax, Trait
from shardc.ops.registry import define
from shardc.ops.result_types import stated
from shardc.ops.untyped import Types, UntypedOp


def _types(selector: TensorType, op: UntypedOp) -> Types:
    """What the first branch returns, and every other one too."""
    if op.one() != selector:
        raise op.error(f"chooses by {selector}, got {op.one()}")
    if not op.region_results:
        return stated(op)
    for index in range(len(op.region_results)):
        op.check_region(index, op.region_results[0])
    return op.region_results[0]


case = define(
    OpDef(
        name="stablehlo.case",
        doc="Runs the branch that the index chooses; the last one if it is out of range.",
        infer=partial(_types, TensorType((), "i32")),
        traits=frozenset((Trait.REGION, Trait.BRANCH)),
        syntax=Syntax(("index",), ("*outputs",), regions=("*branches",), tensors=False),
        spelling=Spelling(called="switch"),
    )
)
if_ = define(
    OpDef(
        name="stablehlo.if",
        doc="Runs one of two branches.",
        infer=partial(_types, TensorType((), "bool")),
        traits=frozenset((Trait.REGION, Trait.BRANCH)),
        syntax=Syntax(("pred",), ("*outputs",), regions=("true_branch", "false_branch"), tensors=False),
        spelling=Spelling(called="cond"),
    )
)
