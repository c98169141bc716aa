"""The spmd dialect: what a device does inside `sdy.manual_computation`, on local blocks.

`axes` are mesh axes, major to minor, as strings: `["x", "y:(1)2"]`. They make groups of devices; a device's
position in its group is row-major over them. The operations print in MLIR's generic form, so that any tool
which allows unregistered dialects reads them:

    %1 = "spmd.all_reduce"(%0) {axes = ["x"], kind = "sum"} : (tensor<4xf32>) -> tensor<4xf32>
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import I1, I64, ArrayAttr, IntegerAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from shardc.dialects.dense import DenseAttr
from shardc.dialects.verify import verify_types


class SpmdOp(IRDLOperation, ABC):
    """Something done by all devices of a group together."""

    axes = attr_def(ArrayAttr[StringAttr])
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if not _is_manual(self):
            raise VerifyException(f"{self.name} is allowed only inside sdy.manual_computation")
        verify_types(self)


def _is_manual(op: Operation) -> bool:
    """Whether the operation runs per device: in a manual computation, or a function called from one."""
    parent = op.parent_op()
    while parent is not None and parent.name not in ("sdy.manual_computation", "func.func"):
        parent = parent.parent_op()
    return not isinstance(parent, FuncOp) or parent.sym_visibility == StringAttr("private")


class BlockOp(SpmdOp, ABC):
    """One local block in, one out."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)


@irdl_op_definition
class AllReduceOp(BlockOp):
    """Combines the group's blocks elementwise by `kind` (sum, max, min); every device gets the result."""

    name = "spmd.all_reduce"
    kind = attr_def(StringAttr)


@irdl_op_definition
class AllGatherOp(BlockOp):
    """Concatenates the group's blocks along `dim`, by position.

    `invariant`: the result is typed as equal on all devices.
    """

    name = "spmd.all_gather"
    dim = attr_def(IntegerAttr[I64])
    invariant = attr_def(IntegerAttr[I1])


@irdl_op_definition
class ReduceScatterOp(BlockOp):
    """Combines the group's blocks by `kind`; each device keeps its part of dimension `dim`."""

    name = "spmd.reduce_scatter"
    dim = attr_def(IntegerAttr[I64])
    kind = attr_def(StringAttr)


@irdl_op_definition
class AllToAllOp(BlockOp):
    """Sends part i of `split_dim` to position i; concatenates what arrives along `concat_dim`."""

    name = "spmd.all_to_all"
    split_dim = attr_def(IntegerAttr[I64])
    concat_dim = attr_def(IntegerAttr[I64])


@irdl_op_definition
class CollectivePermuteOp(BlockOp):
    """Sends the block from position a to position b for every pair (a, b); others get zeros."""

    name = "spmd.collective_permute"
    pairs = attr_def(DenseAttr)


@irdl_op_definition
class AllSliceOp(BlockOp):
    """Keeps the device's own part of dimension `dim`, which must divide. Sends nothing."""

    name = "spmd.all_slice"
    dim = attr_def(IntegerAttr[I64])


@irdl_op_definition
class ToPartialOp(BlockOp):
    """Keeps the block at position 0; elsewhere it becomes the identity of `kind`. Sends nothing."""

    name = "spmd.to_partial"
    kind = attr_def(StringAttr)


@irdl_op_definition
class AsPartialOp(BlockOp):
    """The same block, typed as partial: what is meant is the blocks of the group combined by `kind`."""

    name = "spmd.as_partial"
    kind = attr_def(StringAttr)


@irdl_op_definition
class VaryOp(BlockOp):
    """The same block, typed as differing between the devices of the group."""

    name = "spmd.vary"


@irdl_op_definition
class AxisIndexOp(SpmdOp):
    """The device's position in its group, as i32."""

    name = "spmd.axis_index"
    result = result_def(TensorType)


SPMD = Dialect(
    "spmd",
    [
        AllReduceOp,
        AllGatherOp,
        ReduceScatterOp,
        AllToAllOp,
        CollectivePermuteOp,
        AllSliceOp,
        ToPartialOp,
        AsPartialOp,
        VaryOp,
        AxisIndexOp,
    ],
)
