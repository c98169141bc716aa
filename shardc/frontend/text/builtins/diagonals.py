"""The diagonal of matrices, and its sum."""

from __future__ import annotations

from shardc.frontend.text.builtins.gathers import gather_along
from shardc.frontend.text.builtins.reductions import axis_of, sum_
from shardc.frontend.text.builtins.shapes import slice_dim, transpose
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo


def diagonal(e: Emitter, x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """x[…, i, i + offset], with i as the last dimension."""
    rows, columns = axis_of(e, axis1, x.rank), axis_of(e, axis2, x.rank)
    if rows == columns:
        raise e.error(f"axis1 and axis2 are both dimension {rows}")
    above, right = max(0, -offset), max(0, offset)
    count = max(0, min(x.shape[rows] - above, x.shape[columns] - right))
    with e.group("diagonal"):
        rest = tuple(dim for dim in range(x.rank) if dim not in (rows, columns))
        matrices = transpose(e, x, (*rest, rows, columns))
        if not count:
            return e.splat(0, x.type.with_shape((*matrices.shape[:-2], 0)))
        matrices = slice_dim(e, matrices, x.rank - 2, above, above + count)
        matrices = slice_dim(e, matrices, x.rank - 1, right, right + count)
        column = TensorType((*matrices.shape[:-1], 1), "i32")
        places = e.op(hlo.iota.name, result=column, iota_dimension=x.rank - 2)
        return e.reshape(gather_along(e, matrices, places, x.rank - 1), matrices.shape[:-1])


def trace(e: Emitter, x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sum of a diagonal."""
    return sum_(e, diagonal(e, x, offset, axis1, axis2), -1, False)
