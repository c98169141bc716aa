"""What operations on matrices, the last two dimensions of their operands, share."""

from __future__ import annotations

from shardc.graph.types import TensorType
from shardc.ops.untyped import UntypedOp


def check_square(op: UntypedOp, type: TensorType) -> None:
    """Raise unless the last two dimensions have equal sizes."""
    if type.rank < 2 or type.shape[-1] != type.shape[-2]:
        raise op.error(f"needs square matrices, got {type}")
