"""The derivatives of all operations, given to their definitions.

Formulas name other operations, so they stand apart from the definitions. Most programs need none: they are
given once somebody imports this.
"""

from shardc.ops.derivatives.collective import COLLECTIVE
from shardc.ops.derivatives.contraction import CONTRACTION
from shardc.ops.derivatives.elementwise import TABLE
from shardc.ops.derivatives.indexing import INDEXING
from shardc.ops.derivatives.movement import MOVEMENT
from shardc.ops.derivatives.numerics import NUMERICS
from shardc.ops.derivatives.order import ORDER
from shardc.ops.derivatives.reduction import REDUCTION
from shardc.ops.derivatives.windows import WINDOWS
from shardc.ops.registry import find

TABLES = (TABLE, MOVEMENT, CONTRACTION, REDUCTION, WINDOWS, ORDER, INDEXING, NUMERICS, COLLECTIVE)
"""The derivatives by definition."""

for _table in TABLES:
    for _definition, _derivative in _table.items():
        (find(_definition.name) or _definition).differentiate(_derivative)
