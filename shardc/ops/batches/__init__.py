"""How all operations run on stacks, given to their definitions once somebody imports this.

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
from shardc.ops.registry import find

TABLES = (MOVEMENT, CONTRACTION, REDUCTION, INDEXING, COLLECTIVE)
"""The rules by definition."""

for _table in TABLES:
    for _definition, _batching in _table.items():
        (find(_definition.name) or _definition).batch(_batching)


def batching_of(definition: OpDef) -> Batching | None:
    """The rule of an operation; None if nobody gave one."""
    if definition.batching is not None:
        return definition.batching
    return elementwise if definition.has(Trait.ELEMENTWISE) else None
