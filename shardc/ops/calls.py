"""Functions of a module, and computations that the program names."""

from __future__ import annotations

from shardc.ops import result_types as types
from shardc.ops.definition import OpDef, Trait
from shardc.ops.registry import define

call = define(
    OpDef(
        name="func.call",
        doc="Runs a function of the module.",
        infer=types.stated,
        traits=frozenset((Trait.CALL,)),
    )
)
return_ = define(
    OpDef(
        name="func.return",
        doc="Ends a function.",
        infer=types.nothing,
        traits=frozenset((Trait.TERMINATOR,)),
    )
)
composite = define(
    OpDef(
        name="stablehlo.composite",
        doc='`stablehlo.composite "my.op" %0 {decomposition = @my.op} : (tensor<4xf32>) -> tensor<4xf32>`.',
        infer=types.stated,
    )
)
