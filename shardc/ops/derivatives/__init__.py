"""The derivatives of all operations, given to their definitions.

Formulas name other operations, so they stand apart from the definitions and are given once all have names.
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

TABLES = (TABLE, MOVEMENT, CONTRACTION, REDUCTION, WINDOWS, ORDER, INDEXING, NUMERICS, COLLECTIVE)
"""The derivatives by definition."""
