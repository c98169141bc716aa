"""Operations on tensors whose merged dimensions are kept apart.

x[8, 8, 64] reshaped to [64, 64] and multiplied by w[64, 32] is x multiplied by w, reshaped to [64, 32]: the
product never needed the dimension of 64 rows. *Groups* say into which dimensions each dimension of a tensor
is taken apart: ((8, 8), (64,)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from math import prod
from typing import cast

from msgspec import Struct

from shardc.graph import DotDims, Op
from shardc.ops import Trait, hlo, names

DimGroups = tuple[tuple[int, ...], ...]
Shape = tuple[int, ...]


class Unmerged(Struct, frozen=True):
    """What changes: the groups of the result, and attributes."""

    groups: DimGroups
    attrs: dict[str, object] = {}


def single_groups(shape: Shape) -> DimGroups:
    """The groups of a tensor as it is."""
    return tuple((size,) for size in shape)


def flat(groups: DimGroups) -> Shape:
    """The shape of a tensor taken apart."""
    return tuple(chain.from_iterable(groups))


def merged(source: Shape, target: Shape) -> DimGroups | None:
    """The groups of a reshape that only merges neighbouring dimensions; None of another reshape."""
    groups: list[tuple[int, ...]] = []
    rest = list(source)
    for size in target:
        group = [rest.pop(0)] if rest else []
        while rest and prod(group) < size:
            group.append(rest.pop(0))
        if prod(group) != size or not group:
            return None
        groups.append(tuple(group))
    return None if rest else tuple(groups)


def unmerge(op: Op, operands: Sequence[DimGroups]) -> Unmerged | None:
    """The operation on operands taken apart; None where it needs one of their dimensions merged."""
    rule = UNMERGE.get(op.name)
    return rule(op, operands) if rule else None


def elementwise(op: Op, operands: Sequence[DimGroups]) -> Unmerged | None:
    """All operands that are no scalars are taken apart alike."""
    distinct = {groups for groups in operands if groups}
    return Unmerged(distinct.pop()) if len(distinct) == 1 else None


def broadcast_in_dim(op: Op, operands: Sequence[DimGroups]) -> Unmerged | None:
    """Dimensions that are not new keep their groups; one of size 1 that grows does not."""
    targets = cast(Shape, op.attrs["broadcast_dimensions"])
    groups = list(single_groups(op.results[0].shape))
    for group, size, target in zip(operands[0], op.operands[0].shape, targets, strict=True):
        if size == op.results[0].shape[target]:
            groups[target] = group
        elif len(group) > 1:
            return None
    return Unmerged(tuple(groups), {"broadcast_dimensions": _places(groups, targets)})


def unmerge_result(op: Op, groups: DimGroups) -> Unmerged | None:
    """A broadcast whose result is to be taken apart: only dimensions that its operand has not."""
    targets = cast(Shape, op.attrs["broadcast_dimensions"])
    if any(len(groups[target]) > 1 for target in targets):
        return None
    return Unmerged(groups, {"broadcast_dimensions": _places(groups, targets)})


def transpose(op: Op, operands: Sequence[DimGroups]) -> Unmerged | None:
    """Groups move as dimensions do."""
    order = cast(Shape, op.attrs["permutation"])
    groups = tuple(operands[0][dim] for dim in order)
    return Unmerged(groups, {"permutation": _places(operands[0], order)})


def reduce(op: Op, operands: Sequence[DimGroups]) -> Unmerged | None:
    """Reduced dimensions go with all their parts."""
    dims, count = cast(Shape, op.attrs["dimensions"]), len(op.results)
    if len(set(operands[:count])) > 1:
        return None
    kept = tuple(group for dim, group in enumerate(operands[0]) if dim not in dims)
    return Unmerged(kept, {"dimensions": _places(operands[0], dims)})


def dot_general(op: Op, operands: Sequence[DimGroups]) -> Unmerged | None:
    """Batch and contracted dimensions are taken apart alike on both sides."""
    dims, (left, right) = cast(DotDims, op.attrs["dot_dimension_numbers"]), operands
    for a, b in ((dims.lhs_batching, dims.rhs_batching), (dims.lhs_contracting, dims.rhs_contracting)):
        if [left[d] for d in a] != [right[d] for d in b]:
            return None
    free = [
        [group for d, group in enumerate(groups) if d not in used]
        for groups, used in (
            (left, dims.lhs_batching + dims.lhs_contracting),
            (right, dims.rhs_batching + dims.rhs_contracting),
        )
    ]
    numbers = DotDims(
        _places(left, dims.lhs_batching),
        _places(right, dims.rhs_batching),
        _places(left, dims.lhs_contracting),
        _places(right, dims.rhs_contracting),
    )
    batch = [left[d] for d in dims.lhs_batching]
    return Unmerged(tuple([*batch, *free[0], *free[1]]), {"dot_dimension_numbers": numbers})


def reshape(op: Op, operands: Sequence[DimGroups]) -> Unmerged | None:
    """An end: the result's dimensions keep apart what was."""
    shape = op.results[0].shape
    ends = {prod(shape[:dim]) for dim in range(len(shape) + 1)}
    size = 1
    for group in operands[0]:
        for part in group[:-1]:
            size *= part
            if part > 1 and size not in ends:
                return None
        size *= group[-1]
    return Unmerged(single_groups(shape))


def _places(groups: Sequence[Sequence[int]], dims: Sequence[int]) -> Shape:
    """The numbers that the parts of some dimensions have among all parts."""
    starts = list(accumulate((len(group) for group in groups), initial=0))
    return tuple(place for dim in dims for place in range(starts[dim], starts[dim + 1]))


UNMERGE: dict[str, Callable[[Op, Sequence[DimGroups]], Unmerged | None]] = {
    **dict.fromkeys(names(Trait.ELEMENTWISE), elementwise),
    hlo.broadcast_in_dim.name: broadcast_in_dim,
    hlo.dot_general.name: dot_general,
    hlo.reduce.name: reduce,
    hlo.reshape.name: reshape,
    hlo.transpose.name: transpose,
}
