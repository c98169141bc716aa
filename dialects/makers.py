"""The operations that make values."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter


def made_by(value: SSAValue, *names: str) -> bool:
    """Whether an operation of one of the names makes a value."""
    return isinstance(value, OpResult) and value.op.name in names


def owner(value: SSAValue) -> Operation:
    """The operation that makes a value which is no argument."""
    assert isinstance(value, OpResult)
    return value.op


def erase_unused(value: SSAValue) -> None:
    """Erase the pure operation that makes a value, and those that only it used, if nobody uses it."""
    if isinstance(value, OpResult) and not any(result.uses for result in value.op.results):
        operands = list(value.op.operands)
        Rewriter.erase_op(value.op)
        for operand in operands:
            erase_unused(operand)
