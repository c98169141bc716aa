"""What every pass of the compiler is: a rewrite of a module that says whether it changed anything.

    class DropUnused(GraphPass):
        name = "drop-unused"

        def rewrite(self, shared: SharedGraph) -> bool:
            unused = _unused(shared.snapshot())
            for op in unused:
                Rewriter.erase_op(op)
            return bool(unused)

In a pipeline, the next pass has the same graph if this one returns False. Alone, a pass reads its own. A pass
with options is a frozen dataclass; one without is none, which takes half a millisecond to make.
"""

from __future__ import annotations

from abc import abstractmethod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardc.dialects.shared_graph import SharedGraph


class GraphPass(ModulePass):
    """A pass that shares the module's graph with the passes around it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.rewrite(SharedGraph(op))

    @abstractmethod
    def rewrite(self, shared: SharedGraph) -> bool:
        """Rewrite the module in place; False only if the graph that is held still says what the module does.

        A pass that changes the module and then asks for the graph again drops it in between. ShardcError if
        the module is wrong.
        """
