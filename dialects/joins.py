"""The shardc dialect: a global operation that neither StableHLO nor sdy has.

    %0 = "shardc.join"(%x, %y) {dimension = 0 : i64, start_indices = array<i64: 7, 0>,
                                limit_indices = array<i64: 8, 7>} : (tensor<8xf32>, tensor<8xf32>) -> …

is x[7:8] and y[0:7], one after the other: a roll, rotated halves. It appears between join-slices and
localize.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, prop_def, result_def, var_operand_def

from shardc.dialects.stablehlo.base import I64Array, Int, PureOp


@irdl_op_definition
class JoinOp(PureOp):
    """Slices of the operands along `dimension`, one after another."""

    name = "shardc.join"
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    dimension = prop_def(Int)
    start_indices = prop_def(I64Array)
    limit_indices = prop_def(I64Array)


SHARDC = Dialect("shardc", [JoinOp])
