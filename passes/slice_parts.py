"""slice-parts: slices of a concatenation along a sharded dimension -> concatenations of slices of its parts.

    %0 = stablehlo.slice %x [0:1] : (tensor<8xf32>) -> tensor<1xf32>
    %1 = stablehlo.concatenate %x, %0, dim = 0 : (tensor<8xf32>, tensor<1xf32>) -> tensor<9xf32>
    %2 = stablehlo.slice %1 [1:9] : (tensor<9xf32>) -> tensor<8xf32>

becomes

    %0 = stablehlo.slice %x [1:8] : (tensor<8xf32>) -> tensor<7xf32>
    %1 = stablehlo.slice %x [0:1] : (tensor<8xf32>) -> tensor<1xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>

Stencils on a tensor that wraps around, or repeats its border, are so written, and windows that roll. 9
elements are split elsewhere than 8: nearly all would change places, and back. Of slices that are joined
`join-slices` sees the roll. A concatenation that is used whole, too, stays. One of a tensor and of nothing,
as `jnp.pad` writes them for dimensions that it leaves, is the tensor. Along a dimension that is whole a slice
of one part alone is one of that part, and what made the others for nobody else goes. Integers stay: the words
of a key of random numbers are so joined and taken apart, by which it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.analysis.shardings import is_split_along
from shardc.dialects.convert import python_of
from shardc.dialects.makers import erase_unused, made_by, owner
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.dialects.types import type_of
from shardc.graph import Node, is_inexact, walk
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.remade import made_before
from shardc.rewrite.slice_ranges import Ints, Range


class SliceParts(GraphPass):
    """Put concatenations of what slices leave of the parts in the place of slices, the last ones first."""

    name = "slice-parts"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        every = _concatenations(snap)
        left = [node for node in every if not _joins_nothing(snap.ops[node.id])]
        cut = False
        for node in reversed(left):
            op, dim = snap.ops[node.id], cast(int, node.attrs["dimension"])
            cut |= _cut(op, dim) if is_split_along(snap.graph, node) else _slice_one(op, dim)
        return cut or len(left) < len(every)


def _concatenations(snap: Snapshot) -> list[Node]:
    """All of a module, in the order of the program."""
    nodes = (node for function in snap.graph.functions.values() for node in walk(function.body))
    return [node for node in nodes if node.name == hlo.concatenate.name]


def _joins_nothing(concatenate: Operation) -> bool:
    """Whether a concatenation is of one tensor and of what has no elements; the tensor takes its place."""
    parts = [each for each in concatenate.operands if type_of(each.type).size]
    if len(parts) == 1:
        concatenate.results[0].replace_all_uses_with(parts[0])
        erase_unused(concatenate.results[0])
    return len(parts) == 1


def _cut(concatenate: Operation, dim: int) -> bool:
    """Join what its slices take, if nothing else uses a concatenation, and each cuts the dimension."""
    result = concatenate.results[0]
    size = type_of(result.type).shape[dim]
    ranges = [(use.operation, Range.of(use.operation)) for use in result.uses]
    slices = [(op, taken) for op, taken in ranges if taken is not None and taken.shape[dim] < size]
    if not slices or len(slices) < len(ranges):
        return False
    for op, taken in slices:
        parts = _parts(concatenate, taken, dim, op)
        value = parts[0] if len(parts) == 1 else _joined(parts, dim, op)
        op.results[0].replace_all_uses_with(value)
        Rewriter.erase_op(op)
    erase_unused(result)
    return True


def _slice_one(concatenate: Operation, dim: int) -> bool:
    """Slice one part of a concatenation where a slice takes of that alone, and not of words of keys."""
    if not is_inexact(type_of(concatenate.results[0].type).dtype):
        return False
    changed = False
    for use in [*concatenate.results[0].uses]:
        taken = Range.of(use.operation)
        parts = taken and _taken(concatenate, taken, dim)
        if parts and len(parts) == 1:
            use.operation.results[0].replace_all_uses_with(_slice(*parts[0], use.operation))
            Rewriter.erase_op(use.operation)
            changed = True
    if changed:
        erase_unused(concatenate.results[0])
    return changed


def _parts(concatenate: Operation, taken: Range, dim: int, old: Operation) -> list[SSAValue]:
    """What is taken of each operand of which anything is."""
    return [_slice(operand, within, old) for operand, within in _taken(concatenate, taken, dim)]


def _taken(concatenate: Operation, taken: Range, dim: int) -> list[tuple[SSAValue, Range]]:
    """The operands of which something is taken, and what."""
    parts, first = list[tuple[SSAValue, Range]](), 0
    for operand in concatenate.operands:
        size = type_of(operand.type).shape[dim]
        within = taken.within(dim, first, size)
        if within is not None:
            parts.append((operand, within))
        first += size
    return parts


def _slice(operand: SSAValue, taken: Range, old: Operation) -> SSAValue:
    """What is taken of an operand, as a slice of what that is a slice of."""
    value = _plain(operand)
    while made_by(value, hlo.slice_.name) and (inner := Range.of(owner(value))) is not None:
        value, taken = _plain(owner(value).operands[0]), taken.after(inner)
    type = type_of(value.type)
    if taken.shape == type.shape:
        return value
    return made_before(
        old,
        hlo.slice_,
        [value],
        type.with_shape(taken.shape),
        start_indices=taken.starts,
        limit_indices=taken.limits,
        strides=(1,) * type.rank,
    )


def _plain(value: SSAValue) -> SSAValue:
    """A value without repeats of once, which leave it as it is."""
    while made_by(value, hlo.reshape.name) and made_by(owner(value).operands[0], hlo.broadcast_in_dim.name):
        broadcast = owner(owner(value).operands[0])
        dims = cast(Ints, python_of(broadcast.properties["broadcast_dimensions"]))
        if broadcast.operands[0].type != value.type or list(dims) != sorted(dims):
            break
        value = broadcast.operands[0]
    return value


def _joined(parts: Sequence[SSAValue], dim: int, old: Operation) -> SSAValue:
    joined = made_before(old, hlo.concatenate, parts, type_of(old.results[0].type), dimension=dim)
    joined.name_hint = old.results[0].name_hint
    return joined
