"""Operations in order, as lists: xDSL's iterators make three calls for each operation, and its walk passes
each through a generator for every body around it, which takes several times as long."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation


def nested(ops: Iterable[Operation]) -> list[Operation]:
    """The operations and those in their bodies, in program order: as walk, of all of them."""
    every: list[Operation] = []
    for op in ops:
        every.append(op)
        if op.regions:
            _enter(op, every)
    return every


def _enter(op: Operation, every: list[Operation]) -> None:
    """Add what is in the bodies of an operation."""
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                every.append(inner)
                if inner.regions:
                    _enter(inner, every)
                inner = inner._next_op
            block = block.next_block


def ops_of(block: Block) -> list[Operation]:
    """The operations of a block, as block.ops."""
    every: list[Operation] = []
    op = block._first_op
    while op is not None:
        every.append(op)
        op = op._next_op
    return every
