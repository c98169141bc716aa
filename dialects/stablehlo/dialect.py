"""The StableHLO dialect: all chapters together."""

from __future__ import annotations

from xdsl.ir import Dialect

from shardc.dialects.stablehlo import (
    contractions,
    control_flow,
    data_movement,
    elementwise,
    indexing,
    reductions,
)
from shardc.dialects.stablehlo.attributes import ATTRIBUTES

STABLEHLO = Dialect(
    "stablehlo",
    [
        *elementwise.OPERATIONS,
        *data_movement.OPERATIONS,
        *contractions.OPERATIONS,
        *reductions.OPERATIONS,
        *indexing.OPERATIONS,
        *control_flow.OPERATIONS,
    ],
    ATTRIBUTES,
)
