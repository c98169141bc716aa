"""Elementwise operations on stacks: the same operation, on operands of one shape."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.ops.batching import Batch
from shardc.ops.derivatives.terms import Term


def elementwise(b: Batch) -> Sequence[Term]:
    """All operands as stacks; a scalar beside tensors, as select and clamp take one, is repeated for them."""
    rank = b.op.results[0].rank
    return b.build([_operand(b, i, rank) for i in range(len(b.given))])


def _operand(b: Batch, i: int, rank: int) -> Term:
    term: Term = b.given[i]
    if rank and not b.op.operands[i].rank:
        return term if i not in b.stacks else term.broadcast(b.results[0].shape, (0,))
    return b.full(i)
