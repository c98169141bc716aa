"""Several all-reduces, all-gathers, reduce-scatters or permutes -> one, of their operands laid end to end.

An all-reduce is of any elements, and so is a permute. Of an all-gather, each device's blocks are laid end to
end in a row, and the result has one row for each device; of a reduce-scatter, the operand has a row for each
device, with its parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from shardc.analysis.collectives import axes_of
from shardc.dialects.build import IRBuilder
from shardc.graph import Node, TensorType
from shardc.graph.program import own_attrs
from shardc.layout import size_of
from shardc.ops import hlo, spmd

JOINED = (spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter, spmd.collective_permute)
"""What can be one."""


def send(
    builder: IRBuilder, group: Sequence[Node], operands: Sequence[SSAValue], notes: Mapping[str, object]
) -> Operation:
    """The one collective of a group of one kind over the same axes. `notes` go on what all of them share."""
    first, flat = group[0], list[SSAValue]()
    n = size_of(axes_of(first))
    for node, value in zip(group, operands, strict=True):
        with builder.at(node.loc):
            parted = _parted(builder, value, n, _dim(node)) if _scatters(first) else value
            flat.append(_shaped(builder, parted, _rows(first, builder.type_of(value).size, n)))
    attrs = {**own_attrs(first), **({} if _dim(first) is None else {"dim": 0})}
    with builder.at(first.loc.named(None)), builder.tagged(notes):
        laid = builder.one(hlo.concatenate.name, *flat, dimension=0 if _dim(first) is None else 1)
        (made,) = builder.op(first.name, laid, results=None, regions=(), **attrs)
    owner = made.owner
    assert isinstance(owner, Operation)
    return owner


def take(
    builder: IRBuilder, group: Sequence[Node], made: SSAValue, types: Sequence[TensorType]
) -> list[SSAValue]:
    """The results of each, whose operands have `types`."""
    first, start = group[0], 0
    n = size_of(axes_of(first))
    results: list[SSAValue] = []
    for node, type in zip(group, types, strict=True):
        size = type.size // n if _scatters(first) else type.size
        with builder.at(node.loc):
            results.append(_taken(builder, made, (start, start + size), node, type, n))
        start += size
    return results


def _scatters(node: Node) -> bool:
    return node.name == spmd.reduce_scatter.name


def _gathers(node: Node) -> bool:
    return node.name == spmd.all_gather.name


def _rows(node: Node, size: int, n: int) -> tuple[int, ...]:
    """The shape in which an operand of so many elements is laid beside others."""
    if _scatters(node):
        return n, size // n
    return (1, size) if _gathers(node) else (size,)


def _dim(node: Node) -> int | None:
    dim = node.attrs.get("dim")
    assert dim is None or isinstance(dim, int)
    return dim


def _taken(
    builder: IRBuilder, made: SSAValue, part: tuple[int, int], node: Node, type: TensorType, n: int
) -> SSAValue:
    """What one of them gives, of the elements from part[0] to part[1] of each device."""
    rows = 1 if _scatters(node) else n
    bounds = [part] if _dim(node) is None else [(0, rows), part]
    value = builder.one(
        hlo.slice_.name,
        made,
        start_indices=tuple(low for low, _ in bounds),
        limit_indices=tuple(high for _, high in bounds),
        strides=(1,) * len(bounds),
    )
    dim = _dim(node)
    if dim is None:
        return _shaped(builder, value, type.shape)
    before, after = type.shape[:dim], type.shape[dim + 1 :]
    if _scatters(node):
        return _shaped(builder, value, (*before, type.shape[dim] // n, *after))
    if prod(before) != 1:
        value = _shaped(builder, value, (n, prod(before), type.size // prod(before)))
        value = builder.one(hlo.transpose.name, value, permutation=(1, 0, 2))
    return _shaped(builder, value, (*before, n * type.shape[dim], *after))


def _parted(builder: IRBuilder, value: SSAValue, n: int, dim: int | None) -> SSAValue:
    """A value whose elements are ordered by the device that they are scattered to."""
    shape = builder.type_of(value).shape
    before = prod(shape[:dim])
    if before == 1:
        return value
    rows = _shaped(builder, value, (before, n, prod(shape) // before // n))
    return builder.one(hlo.transpose.name, rows, permutation=(1, 0, 2))


def _shaped(builder: IRBuilder, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """The value in a shape, itself where it has it."""
    type = builder.type_of(value)
    if type.shape == shape:
        return value
    return builder.one(hlo.reshape.name, value, result=TensorType(shape, type.dtype))
