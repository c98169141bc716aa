"""One computation for the blocks of all devices, where blocks are small: what is done element by element,
products, and sums, maxima and minima along dimensions, are done to a stack of them.

    add of 8 pairs of f32[4, 6]   ->   add of one pair of f32[8, 4, 6]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec.structs import replace

from shardc.graph import Op
from shardc.graph.attrs import DotDims
from shardc.ops import Trait, has, hlo
from shardc.ops.definition import Meaning
from shardc.proof.values import stack
from shardc.semantics.arrays import Array

_MOST = 1 << 14
"""Elements of a block, above which devices are done one by one."""

_KINDS = ("sum", "max", "min")
"""What reductions do that need no region."""


def stacked(meanings: Callable[[str], Meaning | None]) -> Callable[..., list[list[Array]] | None]:
    """What Lockstep calls to compute an operation on several devices."""

    def together(op: Op, rows: Sequence[Sequence[Array]]) -> list[list[Array]] | None:
        if any(array.size > _MOST for array in rows[0]):
            return None
        other, computes = _on_stacks(op, rows), meanings(op.name)
        if other is None or computes is None:
            return None
        found = computes(other, _stacks(op, rows))
        return [[array[place, ...] for array in found] for place in range(len(rows))]

    return together


def _stacks(op: Op, rows: Sequence[Sequence[Array]]) -> list[Array]:
    """The operands; what a reduction starts from, which all have, stays."""
    columns = list(zip(*rows, strict=True))
    if op.name == hlo.reduce.name:
        return [stack(columns[0]), columns[1][0]]
    return list(map(stack, columns))


def _on_stacks(op: Op, rows: Sequence[Sequence[Array]]) -> Op | None:
    """The operation with one dimension more, the first; None where that is not the same."""
    count = len(rows)
    if op.name == hlo.dot_general.name:
        dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
        return _wide(op, count, dot_dimension_numbers=_on_each(dims))
    if op.name == hlo.reduce.name:
        start = rows[0][-1]
        if len(rows[0]) > 2 or op.combiner not in _KINDS or any(r[-1] is not start for r in rows):
            return None
        dimensions = cast("tuple[int, ...]", op.attrs["dimensions"])
        return _wide(op, count, dimensions=_moved(dimensions))
    alike = all(array.shape == op.results[0].shape for array in rows[0]) if op.results else False
    if alike and has(op.name, Trait.ELEMENTWISE) and op.name != hlo.bitcast_convert.name:
        return _wide(op, count)
    return None


def _moved(dims: Sequence[int]) -> tuple[int, ...]:
    return tuple(dim + 1 for dim in dims)


def _on_each(dims: DotDims) -> DotDims:
    return DotDims(
        lhs_batching=(0, *_moved(dims.lhs_batching)),
        rhs_batching=(0, *_moved(dims.rhs_batching)),
        lhs_contracting=_moved(dims.lhs_contracting),
        rhs_contracting=_moved(dims.rhs_contracting),
    )


def _wide(op: Op, count: int, **attrs: Any) -> Op:
    return replace(
        op,
        operands=tuple(type.with_shape((count, *type.shape)) for type in op.operands),
        results=tuple(type.with_shape((count, *type.shape)) for type in op.results),
        attrs={**op.attrs, **attrs},
    )
