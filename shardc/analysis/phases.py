"""What a region computes before all that multiplies and sums, what after it, and what between.

    def step(x, w1, w2):          # x, w1, w2: before
        h = relu(x @ w1)          # between
        g = h.T @ (h @ w2 - x)    # after, once it is made
        return w1, w2 - 0.1 * g

Collectives of what is before wait for no other one, and for those of what is after no other one waits: they
mostly become one (passes/combine_collectives.py). Those between wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from shardc.analysis.manual import NO_AXES, AxisNames
from shardc.graph import Node, Region, walk
from shardc.ops import Trait, has

Phase = Literal["before", "between", "after"]

BEFORE: Phase = "before"
BETWEEN: Phase = "between"
AFTER: Phase = "after"
PHASES = (BEFORE, BETWEEN, AFTER)


class Context(Struct, frozen=True, cache_hash=True):
    """The manual axes of the code around a value, and when it is made."""

    manual: AxisNames = NO_AXES
    phase: Phase = BETWEEN


PLAIN = Context()


def phases(region: Region) -> dict[int, Phase]:
    """When the arguments of a region and what its own operations make are made. What they use from outside
    counts as its arguments."""
    found: dict[int, Phase] = dict.fromkeys(region.args, BEFORE)
    for node in region.nodes:
        begun = _heavy(node) or any(found.get(value, BEFORE) != BEFORE for value in node.operands)
        found.update(dict.fromkeys(node.results, BETWEEN if begun else BEFORE))
    used = set[int]()  # by what multiplies and sums, or by what leads there
    for node in reversed(region.nodes):
        if _heavy(node) or not used.isdisjoint(node.results):
            used.update(_operands(node))
    return {
        value: AFTER if phase == BETWEEN and value not in used else phase for value, phase in found.items()
    }


def _heavy(node: Node) -> bool:
    """Whether an operation multiplies and sums, or has a body that may: a loop, a branch, a call."""
    return has(node.name, Trait.PRODUCT, Trait.REGION, Trait.CALL)


def _operands(node: Node) -> Iterator[int]:
    """What an operation uses, in its bodies, too."""
    yield from node.operands
    for region in node.regions:
        for inner in walk(region):
            yield from inner.operands
