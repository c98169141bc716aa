"""unfold-layers: the layers that fold-layers took out -> back in their places.

    func.func @main(%x, %w0, %w1, %w2, %w97, %w98, %w99) attributes … {
      %2 = func.call @layer(%1, %w2)  {shardc.layer = array<i64: 0, 0, 0, 2>}
      %3 = func.call @layer(%2, %w97) {shardc.layer = array<i64: 0, 0, 0, 3>}
      …

becomes, where 94 layers were taken out between these two,

    func.func @main(%x, %w0, %w1, …, %w99) {
      %2 = func.call @layer(%1, %w2)
      %3 = func.call @layer(%2, %w3)
      …
      %97 = func.call @layer(%96, %w97)
      …

Runs on per-device code, and outlines what then repeats once more. What a layer has that others have not is
compiled by itself, with the layouts that are around it, and stands in its place (folding/owned.py). Raises
Unlike if the layers next to the cut have become unlike, or a part finds no such place: then the program is
compiled with all its layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph.marks import LAYER, TIMES
from shardc.ops import Trait, has
from shardc.passes.graph_pass import GraphPass
from shardc.passes.outline_repeats import outline, share_constants
from shardc.rewrite.folding.functions import Calls, put, tell
from shardc.rewrite.folding.notes import Unlike, folded, has_own
from shardc.rewrite.folding.numbers import drop_equal_numbers
from shardc.rewrite.folding.places import NOTED, OWN
from shardc.rewrite.outline import Functions, manual_bodies


@dataclass(frozen=True)
class UnfoldLayers(GraphPass):
    """Put the layers back that the program is without.

    Unless it `outlines`, no functions are made of what repeats then. Parts of layers are compiled with the
    `options`, pass by pass.
    """

    name = "unfold-layers"
    outlines: bool = True
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def rewrite(self, shared: SharedGraph) -> bool:
        stacks = folded(shared.module)
        if not stacks:
            return False
        drop_equal_numbers(shared)
        tell(shared)
        from shardc.rewrite.folding.owned import put_part
        from shardc.rewrite.folding.whole import unfold

        found, sends = [unfold(shared.module, stack) for stack in reversed(stacks)], list[bool]()

        def compiled(part: ModuleOp) -> None:
            self._compile(part)
            sends.extend([has(op.name, Trait.COLLECTIVE) for op in nested([part])])

        if has_own(shared.module):
            calls = Calls(shared.module)
            for _, holders in found:
                put_part(shared.module, holders, calls, compiled)
            put(calls, [own for owners, _ in found for own in owners])
        for name in NOTED:
            shared.module.attributes.pop(name, None)
        for op in nested([shared.module]):
            op.attributes.pop(LAYER, None)
            op.attributes.pop(TIMES, None)
            op.attributes.pop(OWN, None)
        shared.drop()
        if any(sends):
            self._share(shared)
        bodies = manual_bodies(shared.module) if self.outlines else []
        for body in bodies:
            share_constants(body)
        functions = Functions(shared)
        for body in bodies:
            outline(functions, body, calls=False)
        return True

    def _share(self, shared: SharedGraph) -> None:
        """Send once what is sent for a part and for the rest of its layer."""
        from shardc.passes.share_collectives import ShareCollectives

        if ShareCollectives().rewrite(shared):
            shared.drop()

    def _compile(self, module: ModuleOp) -> None:
        """Take the part of a layer to the stage local."""
        from shardc.passes.pipeline import COMPUTING, READING, run_to

        context, options = make_context(), self.options
        try:
            run_to(context, module, "collectives", options=options)
            run_to(context, module, "local", "collectives", options, without=(*READING, COMPUTING))
        except ShardcError as error:  # who has all of the layer says it better
            raise Unlike(str(error)) from None
