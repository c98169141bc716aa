"""One module and its graph, which the passes of a pipeline share.

The graph is read when a pass first asks for it and kept until a pass changes the module:

    shared = SharedGraph(module)
    shared.snapshot()        # reads
    shared.snapshot()        # the same one again
    shared.drop()            # the module has changed
    shared.snapshot()        # reads

So are the types of its per-device code: `shared.varying()`. `shared.ops()` are the operations, of a large
module without the graph. Notes on which neither depends change in both:

    op.attributes.pop("shardc.call")
    shared.noted("shardc.call")
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardc.check.varying import VaryingTypes, check_graph
from shardc.diagnostics import Diagnostic, collecting, warn
from shardc.dialects.convert import python_of
from shardc.dialects.nested import nested, ops_of
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.graph import Graph, Node, walk
from shardc.graph.program import Attrs

LARGE = 2_000
"""Operations of a module of which layers may go out before the graph is read (passes/fold_layers.py)."""


class SharedGraph:
    """A module with its snapshot. `checked` compares each snapshot that is used again with a fresh one."""

    def __init__(self, module: ModuleOp, checked: bool = False) -> None:
        self.module, self.checked = module, checked
        self._held: Snapshot | None = None
        self._ops: list[Operation] | None = None
        self._types: tuple[dict[int, VaryingTypes], list[Diagnostic]] | None = None

    def snapshot(self) -> Snapshot:
        """The module as a graph. Raises ShardcError where a mesh, sharding or body cannot be.

        If `checked`, AssertionError where the module has changed and nobody has said so.
        """
        if self._held is None:
            self._held = snapshot(self.module)
        elif self.checked:
            fresh = snapshot(self.module)
            assert _same(self._held, fresh), "a pass changed the module or its graph and did not say so"
        return self._held

    def ops(self) -> list[Operation]:
        """The operations of all functions, in program order, without the graph of a large module."""
        if self._held is not None:
            return self.snapshot().ops
        if self._ops is None or self.checked:
            functions = (op for op in self.module.body.block.ops if isinstance(op, FuncOp))
            blocks = (block for function in functions for block in function.body.blocks)
            self._ops = [op for block in blocks for op in nested(ops_of(block))]
        return self._ops if len(self._ops) >= LARGE else self.snapshot().ops

    def varying(self) -> dict[int, VaryingTypes]:
        """The graph's per-device code, checked: the types of each body, by the id of its node.

        ShardcError at the first operation that is wrong. Warns each time, as check_graph does.
        """
        graph = self.snapshot().graph
        if self._types is None:
            with collecting() as warnings:
                self._types = check_graph(graph), warnings
        types, warnings = self._types
        for each in warnings:
            warn(each.message, each.loc, each.hint)
        return types

    def per_device(self) -> list[tuple[Node, VaryingTypes]]:
        """The graph's per-device code in its order, and the types of each, without the warnings."""
        with collecting():
            found = self.varying()
        functions = self.snapshot().graph.functions.values()
        nodes = (node for function in functions for node in walk(function.body) if node.id in found)
        return [(node, found[node.id]) for node in nodes]

    def noted(self, name: str) -> None:
        """The attribute `name`, a note of shardc's, has changed in the module: say so in the graph too."""
        if self._held is None:
            return
        ops, renoted = self._held.ops, dict[tuple[int, object], tuple[Attrs, Attrs]]()
        for node in _nodes(self._held.graph):
            attr = ops[node.id].attributes.get(name)
            value = None if attr is None else python_of(attr)
            if node.attrs.get(name) != value:
                key = id(node.attrs), value
                if key not in renoted:  # the old ones are kept, so that no others get their id
                    others = {other: held for other, held in node.attrs.items() if other != name}
                    renoted[key] = node.attrs, others if attr is None else {**others, name: value}
                node.attrs = renoted[key][1]

    def drop(self) -> None:
        """Forget the graph: the module has changed, or the graph no longer says what the module does."""
        self._held = self._types = self._ops = None


def _nodes(graph: Graph) -> Iterator[Node]:
    return (node for function in graph.functions.values() for node in walk(function.body))


def _same(held: Snapshot, fresh: Snapshot) -> bool:
    return held.ops == fresh.ops and held.ssa == fresh.ssa and held.graph == fresh.graph
