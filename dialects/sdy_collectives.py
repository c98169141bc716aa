"""Collectives of sdy in the global view: the type stays, the sharding changes.

`%1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@pod, [{}, {}]> : tensor<8x4xf32>`
changes where the blocks lie.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import (
    TensorType,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from shardc.dialects.sdy_attributes import (
    AllToAllParamsAttr,
    AxesAttr,
    AxisListsAttr,
    ShardingAttr,
)
from shardc.dialects.verify import verify_types


class ShardingOp(IRDLOperation, ABC):
    """A value on the way from one sharding to another: same type in and out."""

    irdl_options = (ParsePropInAttrDict(),)
    input = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        verify_types(self)


SAME_TYPE = "`:` custom<SameType>(type($input), type($result))"


@irdl_custom_directive
class SameType(CustomDirective):
    """`tensor<4xf32>`, once for the operand and the result."""

    input: TypeDirective
    result: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type = parser.parse_type()
        self.input.set(state, [type])
        self.result.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_attribute(self.result.get(op)[0])


class CollectiveOp(ShardingOp, ABC):
    """One communication; `out_sharding` is where it leads."""

    out_sharding = prop_def(ShardingAttr)


_TAIL = f"$input `out_sharding` `` `=` `` $out_sharding attr-dict {SAME_TYPE}"


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """`[{"x"}, {}]`: these axes, the minor ones of each dimension, no longer split it."""

    name = "sdy.all_gather"
    gathering_axes = prop_def(AxisListsAttr)
    assembly_format = f"$gathering_axes {_TAIL}"
    custom_directives = (SameType,)


@irdl_op_definition
class AllSliceOp(CollectiveOp):
    """`[{"x"}, {}]`: these axes split each dimension further; nothing is sent."""

    name = "sdy.all_slice"
    slicing_axes = prop_def(AxisListsAttr)
    assembly_format = f"$slicing_axes {_TAIL}"
    custom_directives = (SameType,)


@irdl_op_definition
class AllToAllOp(CollectiveOp):
    """`[{"x"}: 0->1]`: axes move from the end of one dimension to the end of another."""

    name = "sdy.all_to_all"
    params = prop_def(AllToAllParamsAttr)
    assembly_format = f"$params {_TAIL}"
    custom_directives = (SameType,)


@irdl_op_definition
class CollectivePermuteOp(CollectiveOp):
    """Blocks of one shape change places."""

    name = "sdy.collective_permute"
    assembly_format = _TAIL
    custom_directives = (SameType,)


@irdl_op_definition
class AllReduceOp(CollectiveOp):
    """`{"x"}`: the partial results over these axes are combined."""

    name = "sdy.all_reduce"
    reduction_axes = prop_def(AxesAttr)
    assembly_format = f"$reduction_axes {_TAIL}"
    custom_directives = (SameType,)


@irdl_op_definition
class ReduceScatterOp(CollectiveOp):
    """`[{"x"}, {}]`: combined and split along a dimension in one step."""

    name = "sdy.reduce_scatter"
    reduce_scatter_axes = prop_def(AxisListsAttr)
    assembly_format = f"$reduce_scatter_axes {_TAIL}"
    custom_directives = (SameType,)


@irdl_op_definition
class ShardedToUnreducedOp(CollectiveOp):
    """`[{"x"}, {}]`: instead of a block each device holds the tensor, zero outside its block."""

    name = "sdy.sharded_to_unreduced"
    axes = prop_def(AxisListsAttr)
    assembly_format = f"$axes {_TAIL}"
    custom_directives = (SameType,)


@irdl_op_definition
class ReplicatedToUnreducedOp(CollectiveOp):
    """`{"x"}`: one device keeps the value, the others hold zeros."""

    name = "sdy.replicated_to_unreduced"
    axes = prop_def(AxesAttr)
    assembly_format = f"$axes {_TAIL}"
    custom_directives = (SameType,)


COLLECTIVES = [
    AllGatherOp,
    AllSliceOp,
    AllToAllOp,
    CollectivePermuteOp,
    AllReduceOp,
    ReduceScatterOp,
    ShardedToUnreducedOp,
    ReplicatedToUnreducedOp,
]
