"""Scatters that subtract -> scatters that add what is negated.

%0 = "stablehlo.scatter"(%x, %i, %y) ({ a - b })    ->    %1 = stablehlo.negate %y
                                                          %0 = "stablehlo.scatter"(%x, %i, %1) ({ a + b })

So JAX writes `x.at[i].subtract(y)`. Sums may be partial; a - b and a + -b are the same in every type.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import location_of
from shardc.ops import hlo


def negated(op: Operation, builder: IRBuilder) -> bool:
    """Let a scatter of one operand add what it subtracts; whether it did subtract."""
    if op.name != hlo.scatter.name or len(op.results) != 1:
        return False
    body = op.regions[0].block
    step, end = body.first_op, body.last_op
    if step is None or end is None or step.name != hlo.subtract.name:
        return False
    if [*step.operands] != [*body.args] or [*end.operands] != [*step.results]:
        return False
    with builder.at(location_of(op.location).named(None)):
        builder.before(op)
        op.operands[2] = builder.one(hlo.negate.name, op.operands[2])
        builder.before(step)
        Rewriter.replace_op(step, [], [builder.one(hlo.add.name, *step.operands)])
    return True
