"""Result types that many operations share."""

from __future__ import annotations

from shardc.graph import TensorType
from shardc.ops.untyped import Types, UntypedOp


def same(op: UntypedOp) -> Types:
    """That of the only operand."""
    return (op.one(),)


def operands(op: UntypedOp) -> Types:
    """Those of the operands."""
    return op.operands


def nothing(op: UntypedOp) -> Types:
    """None: the operation ends a region."""
    return ()


def stated(op: UntypedOp) -> Types:
    """Those that the program states, for operations whose own types nothing else tells."""
    if op.given is None:
        raise op.error("cannot infer its result types: state them (result=)")
    return op.given


def resized(op: UntypedOp, type: TensorType, dim: int, times: int = 1, parts: int = 1) -> TensorType:
    """A block whose dimension `dim` has been concatenated `times` and split in equal `parts`."""
    size = type.shape[dim] * times
    if size % parts:
        raise op.error(f"cannot split dimension {dim} of {type}, of size {size}, in {parts} equal parts")
    return type.with_shape((*type.shape[:dim], size // parts, *type.shape[dim + 1 :]))
