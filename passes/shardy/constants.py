"""Equal constants -> one, and equal broadcasts of scalars too, as Shardy's export leaves them.

%0 = stablehlo.constant dense<1.0> : tensor<8xf32>
%1 = stablehlo.constant dense<1.0> : tensor<8xf32>        // goes; its users take %0
"""

from __future__ import annotations

from collections.abc import Container

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.arrays import is_tensor
from shardc.ops import hlo, sdy

MERGED = (hlo.broadcast_in_dim.name, hlo.constant.name, hlo.iota.name, sdy.constant.name)
"""What Shardy's import copies for each use, and its export makes one again."""

CONSTANTS = (hlo.constant.name, sdy.constant.name)


def merge_constants(block: Block, kinds: Container[str] = MERGED) -> None:
    """Let equal constants of a block be one, the first, and equal broadcasts of scalars too.

    `kinds` are the names of the operations that may become one. Those of inner regions stay there.
    """
    first: dict[tuple[object, ...], Operation] = {}
    for op in list(block.ops):
        if op.name in kinds and not any(_rank(operand) for operand in op.operands):
            attributes = sorted((op.properties | op.attributes).items())
            key = (op.name, *op.operands, *op.result_types, *attributes)
            known = first.setdefault(key, op)
            if known is not op:
                Rewriter.replace_op(op, [], known.results)
        for region in op.regions:
            merge_constants(region.block, kinds)


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape()) if is_tensor(value.type) else 0
