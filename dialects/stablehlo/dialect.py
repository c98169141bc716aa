"""The StableHLO dialect; classes are written by hand where no Syntax says how an operation is read.

The context derives the others when they are first asked for.
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from shardc.dialects.stablehlo.attributes import ATTRIBUTES
from shardc.dialects.stablehlo.calls import CompositeOp, CustomCallOp
from shardc.dialects.stablehlo.constants import ConstantOp
from shardc.dialects.stablehlo.control_flow import OptimizationBarrierOp, WhileOp
from shardc.dialects.stablehlo.mesh_groups import ATTRIBUTES as MESH_GROUPS
from shardc.dialects.stablehlo.reduce import ReduceOp

WRITTEN: list[type[Operation]] = [
    CompositeOp,
    ConstantOp,
    CustomCallOp,
    OptimizationBarrierOp,
    ReduceOp,
    WhileOp,
]

STABLEHLO = Dialect("stablehlo", WRITTEN, [*ATTRIBUTES, *MESH_GROUPS])
