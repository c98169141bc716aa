"""Equal layers of a program from which none are taken out, so that planning knows them.

A program of a few layers is compiled whole (passes/fold_layers.py). Its layers are planned as one all the
same (planning/program/search/repeats.py): one plan for all is found sooner, and more often the best.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from xdsl.dialects.func import FuncOp

from shardc.dialects.nested import ops_of
from shardc.dialects.snapshot import Snapshot
from shardc.graph.marks import LAYER, NUMBERS
from shardc.ops import hlo

LEAST = 500
"""Operations: smaller programs are solved whole, with each layer for itself."""

LAYERS = 3
"""Of two the first and the last, whose surroundings are others, would be all."""


def equal_layers(snap: Snapshot) -> Mapping[int, Hashable]:
    """By the ids of operations of main what is equal for those of one place in different layers; nothing
    where less than half of them are of layers, or layers have been taken out."""
    nodes = snap.graph.main.body.nodes
    if len(nodes) < LEAST or any(LAYER in node.attrs for node in nodes):
        return {}
    from shardc.rewrite.folding.kinds import Kinds
    from shardc.rewrite.folding.stacks import stacks_of

    main = snap.ops[nodes[0].id].parent_op()
    assert isinstance(main, FuncOp)
    block = main.clone().body.block  # of which sums will be in another order
    ids = dict(zip(ops_of(block), [node.id for node in nodes], strict=True))
    steps = sum(op.name != hlo.constant.name for op in ids)
    found = dict[int, Hashable]()
    for number, stack in enumerate(stacks_of(block, steps // 2, Kinds())):
        if stack.count >= LAYERS:
            places = ((ids[op], slot) for op, (slot, _) in stack.ops.items() if slot[0] != NUMBERS)
            found.update((node, (number, *slot)) for node, slot in places)
    return found if 2 * len(found) >= steps else {}
