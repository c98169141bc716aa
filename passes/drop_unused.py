"""drop-unused: operations whose results nobody uses go, before anything is planned for them.

    %0 = stablehlo.slice %x [1:63] : (tensor<64xf32>) -> tensor<62xf32>     // %x is [x]
    %1 = stablehlo.tanh %0 : tensor<62xf32>                                 // used by none
    return %x : tensor<64xf32>

becomes

    return %x : tensor<64xf32>

Propagation sees them, as Shardy's does. What has effects stays, and so do loops and branches.
"""

from __future__ import annotations

from xdsl.rewriter import Rewriter

from shardc.dialects.shared_graph import SharedGraph
from shardc.passes.graph_pass import GraphPass
from shardc.propagation.dead import dead_nodes


class DropUnused(GraphPass):
    """Erase what nobody uses, users first."""

    name = "drop-unused"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        dead = dead_nodes(snap.graph)
        for number in sorted(dead, reverse=True):
            Rewriter.erase_op(snap.ops[number])
        return bool(dead)
