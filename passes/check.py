"""check: the module, unchanged, or a located error.

    %z = stablehlo.dot_general %a, %b, …      // blocks split over j
    sdy.return %z                             // out_shardings=[<@grid, [{"i"}, {}]>]

stops with

    prog.shard:6:12: error: … varies over j, but the result's type does not split it over j
        note: psum over j first, or return it as `32@j`

All per-device code is checked operation by operation (check/varying.py): what the user wrote as @shard_map,
and, after localize, what the compiler wrote.
"""

from __future__ import annotations

from shardc.dialects.shared_graph import SharedGraph
from shardc.passes.graph_pass import GraphPass


class Check(GraphPass):
    """Type-check the per-device code of every function."""

    name = "check"

    def rewrite(self, shared: SharedGraph) -> bool:
        shared.varying()
        return False
