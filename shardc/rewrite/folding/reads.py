"""What operations read, the operations in their bodies included."""

# pyright: reportPrivateUsage=false
# op.operands makes an object each time

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from shardc.dialects import quick
from shardc.dialects.nested import nested


def reads(op: Operation) -> Sequence[SSAValue]:
    """What an operation and those in its bodies read from around it, in order."""
    if not op.regions:
        return op._operands
    return [step._operands[index] for step, index in _places(op)]


def reads_of(row: Sequence[Operation]) -> list[Sequence[SSAValue]]:
    """The same of each of some operations of one kind."""
    if not row[0].regions:
        return [op._operands for op in row]
    number = {step: number for number, step in enumerate(nested(row[:1]))}
    places = [(number[step], index) for step, index in _places(row[0])]
    bodies = (nested([op]) for op in row)
    return [[inner[step]._operands[index] for step, index in places] for inner in bodies]


def replace_reads(op: Operation, values: Sequence[SSAValue]) -> None:
    """Let an operation and those in its bodies read other values, in the order of reads()."""
    if not op.regions:
        op.operands = values
        return
    for (step, index), value in zip(_places(op), values, strict=True):
        step.operands[index] = value


def copied(op: Operation, values: Sequence[SSAValue], function: type[Operation] | None = None) -> Operation:
    """A copy of an operation that reads other values, in the order of reads(); of one without regions perhaps
    another function of them.
    """
    if op.regions:
        read = dict[SSAValue, SSAValue]()
        if all(read.setdefault(old, new) is new for old, new in zip(reads(op), values, strict=True)):
            return quick.copied(op, read)
        copy = quick.copied(op, {})
        replace_reads(copy, values)
        return copy
    types = [result.type for result in op.results]
    kind, properties, attributes = function or type(op), op.properties.copy(), op.attributes.copy()
    copy = quick.made(kind, values, types, properties, attributes, op.location)
    for new, old in zip(copy.results, op.results, strict=True):
        new._name = old._name
    return copy


def _places(op: Operation) -> list[tuple[Operation, int]]:
    """The operands that come from around an operation."""
    inner = nested([op])
    blocks = [block for step in inner for region in step.regions for block in region.blocks]
    own = {id(value) for block in blocks for value in block.args}
    own.update([id(value) for step in inner[1:] for value in step.results])
    return [(step, i) for step in inner for i, value in enumerate(step._operands) if id(value) not in own]
