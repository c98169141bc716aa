"""What all spmd operations have in common: they are done by all devices of a group together, on local blocks.

`axes` are mesh axes, major to minor, as strings: `["x", "y:(1)2"]`. They make groups of devices; a device's
position in its group is row-major over them. The operations print in MLIR's generic form, so that any tool
which allows unregistered dialects reads them:

    %1 = "spmd.all_reduce"(%0) {axes = ["x"], kind = "sum"} : (tensor<4xf32>) -> tensor<4xf32>
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, attr_def
from xdsl.utils.exceptions import VerifyException

from shardc.dialects.verify import verify_types
from shardc.ops import sdy


class SpmdOp(IRDLOperation, ABC):
    """An operation of per-device code."""

    axes = attr_def(ArrayAttr[StringAttr])

    def verify_(self) -> None:
        if not _is_manual(self):
            raise VerifyException(f"{self.name} is allowed only inside {sdy.manual_computation.name}")
        verify_types(self)


def _is_manual(op: Operation) -> bool:
    """Whether the operation runs per device: in a manual computation, or a function called from one."""
    parent = op.parent_op()
    while parent is not None and parent.name not in (sdy.manual_computation.name, FuncOp.name):
        parent = parent.parent_op()
    return not isinstance(parent, FuncOp) or parent.sym_visibility == StringAttr("private")
