"""release: arrays that are kept until their function returns -> arrays that end with their last use.

    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    %1 = stablehlo.tanh %0

becomes

    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {shardc.release = "after its last use"}
    %1 = stablehlo.tanh %0 {shardc.release = "after its last use"}

A Python function holds what its variables hold until it returns: of what has this note, NumPy programs say
`del`. JAX programs stay as they are, since XLA knows last uses. Runs for `--memory`, on per-device code.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from shardc.dialects.shared_graph import SharedGraph
from shardc.graph import walk
from shardc.graph.marks import RELEASE
from shardc.passes.graph_pass import GraphPass


class Release(GraphPass):
    """Note on every operation that makes arrays that they are not kept."""

    name = "release"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        made = [
            snap.ops[node.id]
            for function in snap.graph.functions.values()
            for node in walk(function.body)
            if any(type.rank for type in snap.graph.types(node.results))
        ]
        for op in made:
            op.attributes[RELEASE] = StringAttr("after its last use")
        return bool(made)
