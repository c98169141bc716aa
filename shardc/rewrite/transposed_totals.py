"""Transposed totals of products -> totals of transposed products, which are one product each.

%1 = stablehlo.dot_general %g, %x                    ->    %1 = stablehlo.dot_general %g, %x
%2 = spmd.all_reduce %1                                    %2 = stablehlo.transpose %1, dims = [1, 0]
%3 = stablehlo.transpose %2, dims = [1, 0]                 %3 = spmd.all_reduce %2

The gradient of a weight is computed so in every backward pass of JAX's.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.ops import hlo, spmd
from shardc.rewrite.outline import GLOBAL


def total_of_transposed(op: Operation) -> SSAValue | None:
    """The total, in the place of the one before; None where a transposition is of something else."""
    if op.name != hlo.transpose.name:
        return None
    total = _only(op.operands[0], spmd.all_reduce.name)
    product = None if total is None else _only(total.operands[0], hlo.dot_general.name)
    block = op.parent_block()
    if total is None or product is None or block is None or total.parent_block() is not block:
        return None
    moved = op.clone()
    moved.operands[0] = product.results[0]
    moved.attributes.pop(GLOBAL, None)
    locate(moved, location_of(op.location).named(None))
    made = total.clone()
    made.operands[0] = moved.results[0]
    Rewriter.replace_value_with_new_type(made.results[0], op.results[0].type)
    if GLOBAL in op.attributes:
        made.attributes[GLOBAL] = op.attributes[GLOBAL]
    locate(made, location_of(op.location))
    for new in (moved, made):
        block.insert_op_before(new, total)
    return made.results[0]


def _only(value: SSAValue, name: str) -> Operation | None:
    """The operation of this name that makes a value, if that has one use."""
    made = value.owner
    return made if isinstance(made, Operation) and made.name == name and value.has_one_use() else None
