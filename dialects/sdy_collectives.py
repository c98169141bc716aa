"""What sdy's operations that change a sharding have in common.

`%1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@pod, [{}, {}]> : tensor<8x4xf32>`
changes where the blocks lie, and the type stays.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.verify import verify_types


class ShardingOp(IRDLOperation, ABC):
    """A value on the way from one sharding to another: same type in and out."""

    irdl_options = (ParsePropInAttrDict(),)
    input = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        verify_types(self)


class CollectiveOp(ShardingOp, ABC):
    """One communication; `out_sharding` is where it leads."""

    out_sharding = prop_def(ShardingAttr)
