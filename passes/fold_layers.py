"""fold-layers: many equal layers -> few, that stand for all.

    func.func @main(%x, %w0, %w1, …, %w99) {
      %0 = … %x, %w0
      %1 = … %0, %w1
      …
      %99 = … %98, %w99
      return %99
    }

becomes

    func.func @main(%x, %w0, %w1, %w2, %w97, %w98, %w99) attributes {shardc.folded = …} {
      %0 = … %x, %w0          {shardc.layer = array<i64: 0, 0, 0, 0>}
      %1 = … %0, %w1          {shardc.layer = array<i64: 0, 0, 0, 1>}
      %2 = … %1, %w2          {shardc.layer = array<i64: 0, 0, 0, 2>, shardc.times = 95}
      %3 = … %2, %w97         {shardc.layer = array<i64: 0, 0, 0, 3>}
      …
      return %5
    }

The layers in the middle go, with their arguments and results; what the next layer read of the last of them it
reads of the last layer before them. So what follows takes as long for a hundred layers as for a few.
unfold-layers puts them back. Where one layer differs from the others, or where two kinds follow each other,
there are several stacks; layers go out of one after the other. The first stack stays as it is if that saves
fewer operations than `worth`, a later one if it has less than a quarter as many, and any if something but its
layers and the function's results reads what the layers make that would go. Layers may differ
in float constants, but for 0, 1, -1, infinities and NaN, and a few of those that go in functions of elements
that are sharded alike and take equally long, such as sine and cosine: each gets its own back. So does a layer
that has up to a hundred operations of its own between those that are as the others' (folding/apart.py). What
is done with gradients and weights after or before all layers may come in another order than these, by names.
A sum of what all layers make, the norm of their gradients, say, is written layer by layer for it
(folding/sums.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from xdsl.dialects.func import FuncOp

from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.verify import module_meshes
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.folding.notes import Folded, note

if TYPE_CHECKING:
    from shardc.rewrite.folding.cut import Cut

WORTH = 2_000
"""Operations: with fewer that go, finding them and putting them back takes as long as compiling them."""


@dataclass(frozen=True)
class FoldLayers(GraphPass):
    """Take layers out of the program that are equal to those around them.

    The module must have one function, and a mesh. `told` is given the cuts through the whole function
    (folding/cut.py), which is in no module then. Unless with `functions`, layers that differ in functions, or
    in a part, are none.
    """

    name = "fold-layers"
    worth: int = WORTH
    told: Callable[[Sequence[Any]], None] | None = None
    functions: bool = True

    def rewrite(self, shared: SharedGraph) -> bool:
        block = shared.module.body.block
        functions = [op for op in block.ops if isinstance(op, FuncOp)]
        if len(functions) != 1 or not module_meshes(shared.module):
            return False
        (function,) = functions
        if len(nested([function])) < self.worth:
            return False
        found = self._few(function)
        if found is None:
            return False
        cuts, notes, few = found
        note(shared.module, notes)
        block.insert_op_before(few, function)
        function.detach()
        if self.told is not None:
            self.told(cuts)
        return True

    def _few(self, function: FuncOp) -> tuple[Sequence[Cut], Sequence[Folded], FuncOp] | None:
        """The cuts through a function, what is noted of them, and the function without what goes."""
        from shardc.rewrite.folding.apart import part_apart
        from shardc.rewrite.folding.cut import cuts_of, folded
        from shardc.rewrite.folding.kinds import Kinds
        from shardc.rewrite.folding.parts import noted

        kinds = Kinds()
        for wanted in (self.functions, False):
            with part_apart(function, kinds, wanted) as part:
                cuts = cuts_of(function, self.worth, kinds, self.functions)
                own = None if part is None else noted(part, cuts)
                if cuts and (part is None or own is not None):
                    notes = [cut.notes() for cut in cuts]
                    if own is not None:
                        number, said = own
                        notes[number] = replace(notes[number], part=said)
                    return cuts, notes, folded(function, cuts)
                if part is None:
                    break
        return None
