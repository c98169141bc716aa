"""Operations that are made and copied as xDSL does it, in a third of the time.

    op = made(AddOp, [x, y], [x.type], {}, {}, location)     as AddOp.create(operands=[x, y], …)
    copy = copied(op, {x: z})                                as op.clone({x: z})
    append(block, [op, copy])                                as block.add_ops([op, copy])

xDSL's own fill in defaults of properties, look for the operation's definition, and check each name and each
block. Here properties are all that the operation has, names those of values that exist, and operations new.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues


def made(
    kind: type[Operation],
    operands: Sequence[SSAValue],
    types: Iterable[Attribute],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
    location: Attribute,
    regions: Sequence[Region] = (),
) -> Operation:
    """An operation in no block; dictionaries and regions become its own."""
    op = kind.__new__(kind)
    op._operands = SSAValues(operands)
    uses = list[Use]()
    for index, value in enumerate(operands):
        first = value.first_use
        use = Use(op, index, None, first)
        if first is not None:
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    op._operand_uses = tuple(uses)
    op.results = SSAValues([OpResult(type, op, index) for index, type in enumerate(types)])
    op.properties, op.attributes = properties, attributes
    op.location = cast("LocationAttr", location)
    op.regions = ()
    for region in regions:
        op.add_region(region)
    return op


def append(block: Block, ops: Iterable[Operation]) -> None:
    """Add operations that are in no block at the end of one."""
    last = block._last_op
    for op in ops:
        if op.parent is not None:
            raise ValueError("an operation is in a block already")
        op.parent, op._prev_op = block, last
        if last is None:
            block._first_op = op
        else:
            last._next_op = op
        last = op
    block._last_op = last


def copied(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of an operation and its bodies that reads what `values` says, and the same where that says
    nothing; what the copy makes is put there."""
    regions = op.regions
    if op._successors or any(region.first_block is not region.last_block for region in regions):
        return op.clone(values)
    read = [values.get(value, value) for value in op._operands]
    types = [result.type for result in op.results]
    copy = made(type(op), read, types, op.properties.copy(), op.attributes.copy(), op.location)
    for region in regions:
        copy.add_region(_body(region, values))
    for old, new in zip(op.results, copy.results, strict=True):
        new._name = old._name
        values[old] = new
    return copy


def body(region: Region) -> Region:
    """A copy of a body that uses nothing from around it, or the same."""
    return _body(region, {}) if region.first_block is region.last_block else region.clone()


def _body(region: Region, values: dict[SSAValue, SSAValue]) -> Region:
    block = region.first_block
    if block is None:
        return Region()
    copy = Block(arg_types=[arg.type for arg in block.args])
    for old, new in zip(block.args, copy.args, strict=True):
        new.location, new._name = old.location, old._name
        values[old] = new
    ops, inner = list[Operation](), block._first_op
    while inner is not None:
        ops.append(copied(inner, values))
        inner = inner._next_op
    append(copy, ops)
    return Region(copy)
