"""The StableHLO dialect: all chapters together."""

from __future__ import annotations

from xdsl.ir import Dialect

from shardc.dialects.stablehlo import (
    calls,
    collectives,
    contractions,
    control_flow,
    data_movement,
    elementwise,
    indexing,
    numerics,
    reductions,
    unary,
)
from shardc.dialects.stablehlo.attributes import ATTRIBUTES

STABLEHLO = Dialect(
    "stablehlo",
    [
        *unary.OPERATIONS,
        *elementwise.OPERATIONS,
        *data_movement.OPERATIONS,
        *contractions.OPERATIONS,
        *reductions.OPERATIONS,
        *indexing.OPERATIONS,
        *control_flow.OPERATIONS,
        *collectives.OPERATIONS,
        *numerics.OPERATIONS,
        *calls.OPERATIONS,
    ],
    ATTRIBUTES,
)
