"""How all operations run on stacks, given to their definitions.

An elementwise operation needs no rule of its own.
"""

from shardc.ops.batches.collective import COLLECTIVE
from shardc.ops.batches.contraction import CONTRACTION
from shardc.ops.batches.elementwise import elementwise
from shardc.ops.batches.indexing import INDEXING
from shardc.ops.batches.movement import MOVEMENT
from shardc.ops.batches.reduction import REDUCTION
from shardc.ops.batching import Batching
from shardc.ops.definition import OpDef, Trait

TABLES = (MOVEMENT, CONTRACTION, REDUCTION, INDEXING, COLLECTIVE)
"""The rules by definition."""


def batching_of(definition: OpDef) -> Batching | None:
    """The rule of an operation; None if nobody gave one."""
    if definition.batching is not None:
        return definition.batching
    return elementwise if definition.has(Trait.ELEMENTWISE) else None
