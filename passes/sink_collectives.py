"""sink-collectives: what one branch alone needs of other devices -> sent in that branch.

    %0 = "spmd.all_gather"(%g) {axes = ["model"], dim = 1, shardc.reason = "…"}
    %1 = "stablehlo.if"(%p) ({ … svd %0 … }, { stablehlo.return %u })

becomes

    %1 = "stablehlo.if"(%p) ({
      %0 = "spmd.all_gather"(%g) {axes = ["model"], dim = 1, shardc.reason = "…"}
      … svd %0 …
    }, { stablehlo.return %u })

Nothing is sent where the other branch is taken: preconditioners that an optimizer computes anew in every
hundredth step are gathered in that step. All devices take the same branch, for a condition is a scalar, which
no axis splits. Collectives that per-device code has itself stay where they are written.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph.marks import REASON
from shardc.ops import Trait, has
from shardc.passes.graph_pass import GraphPass


class SinkCollectives(GraphPass):
    """Move collectives into the only branch that uses them, the last ones first: they use others."""

    name = "sink-collectives"

    def rewrite(self, shared: SharedGraph) -> bool:
        found = [op for op in nested([shared.module]) if has(op.name, Trait.COLLECTIVE)]
        return any([_sink(op) for op in reversed(found) if REASON in op.attributes])


def _sink(op: Operation) -> bool:
    """Whether there was a branch to move it into; with branches in it, it is the innermost."""
    moved = False
    while (branch := _only_branch(op)) is not None:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.at_start(branch))
        moved = True
    return moved


def _only_branch(op: Operation) -> Block | None:
    """The branch in which all uses of what an operation gives are, of a choice beside it."""
    branches = {_branch(op, use.operation) for result in op.results for use in result.uses}
    return branches.pop() if len(branches) == 1 else None


def _branch(op: Operation, user: Operation) -> Block | None:
    """The branch, of a choice in the block of `op`, that a user is in."""
    block = user.parent
    while block is not None and block is not op.parent:
        above = block.parent_op()
        if above is None:
            return None
        if above.parent is op.parent:
            return block if has(above.name, Trait.BRANCH) else None
        block = above.parent
    return None
