"""simplify-local: per-device code -> the same without steps that do nothing.

    %0 = stablehlo.slice %x [0:8, 0:4] : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.multiply %i, 1
    %2 = stablehlo.add %0, %y
    %3 = stablehlo.add %0, %y

becomes

    %2 = stablehlo.add %x, %y                  // and %1 is %i, %3 is %2

Identities go, and sums over dimensions of size 1 that were only just added; constants of one element are
computed, also where they are sliced or joined, and so is what they decide (known_elements.py), gathers at
places that are known are slices (known_places.py), parts without elements are not joined (no_elements.py),
ones are multiplied with nothing (products_of_ones.py), what is summed is not placed into zeros before
(placed_sums.py), what is sent of a product is not transposed but the product (transposed_totals.py), equal
operations, composites (equal_groups.py), loops and calls (equal_bodies.py) are done once, functions return
them once (equal_results.py), unused ones are not done at all, and of numbers that are added to an integer
there is one (integer_sums.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph.marks import REASON
from shardc.ops import Trait, has
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.constants import (
    computed,
    computed_with,
    moved,
    no_remainder,
)
from shardc.rewrite.equal_bodies import merge_equal_bodies
from shardc.rewrite.equal_groups import merge_equal_groups
from shardc.rewrite.equal_operations import merge_equal_operations
from shardc.rewrite.equal_results import merge_equal_results
from shardc.rewrite.identities import IDENTITIES, either_way, largest_of_one
from shardc.rewrite.integer_sums import sum_of_numbers
from shardc.rewrite.known_elements import decided, decided_with
from shardc.rewrite.known_places import slice_of_gather
from shardc.rewrite.no_elements import of_the_others
from shardc.rewrite.placed_sums import sum_of_placed
from shardc.rewrite.products_of_ones import repeated_array
from shardc.rewrite.transposed_totals import total_of_transposed
from shardc.rewrite.unused import remove_unused


@dataclass(frozen=True)
class SimplifyLocal(GraphPass):
    """Identities, equal operations, unused ones.

    `told` is given numbers that were computed with, and what they gave.
    """

    name = "simplify-local"
    told: Callable[[Sequence[Any]], None] | None = None

    def rewrite(self, shared: SharedGraph) -> bool:
        module, builder = shared.module, IRBuilder(shared.module)
        for op in nested([module]):
            if not has(op.name, Trait.COLLECTIVE):
                op.attributes.pop(REASON, None)  # nobody asks, and equal operations would not be equal
            simplify = IDENTITIES.get(op.name)
            replacement = simplify(op) if simplify else None
            if replacement is None:
                written = (write(op, builder) for write in WRITTEN)
                replacement = next(filter(None, written), None) or total_of_transposed(op)
                if self.told is not None:
                    self.told([*computed_with(op, replacement), *decided_with(op)])
            if replacement is not None:
                Rewriter.replace_op(op, [], [replacement])
        merge_equal_operations(module)
        while merge_equal_groups(module) or merge_equal_bodies(module) or merge_equal_results(module):
            merge_equal_operations(module)
        for op in nested([module]):  # now that what is used twice is one
            same = either_way(op) or sum_of_numbers(op, builder)
            if same is not None:
                Rewriter.replace_op(op, [], [same])
        remove_unused(module.body)
        return True


WRITTEN = (
    computed,
    decided,
    moved,
    no_remainder,
    largest_of_one,
    slice_of_gather,
    of_the_others,
    repeated_array,
    sum_of_placed,
)
"""What writes another operation in the place of one."""
