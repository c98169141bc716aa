"""One computation for the blocks of all devices, where blocks are small: what is done element by element, and
products, are done to a stack of them.

    add of 8 pairs of f32[4, 6]   ->   add of one pair of f32[8, 4, 6]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from shardc.graph import Op
from shardc.graph.attrs import DotDims
from shardc.ops import Trait, has, hlo
from shardc.ops.definition import Meaning
from shardc.semantics.arrays import Array

_MOST = 1 << 14
"""Elements of a block, above which devices are done one by one."""


def stacked(meanings: Callable[[str], Meaning | None]) -> Callable[..., list[list[Array]] | None]:
    """What Lockstep calls to compute an operation on several devices."""

    def together(op: Op, rows: Sequence[Sequence[Array]]) -> list[list[Array]] | None:
        if any(array.size > _MOST for array in rows[0]):
            return None
        other, computes = _on_stacks(op, rows), meanings(op.name)
        if other is None or computes is None:
            return None
        found = computes(other, [_stack(arrays) for arrays in zip(*rows, strict=True)])
        return [[array[place] for array in found] for place in range(len(rows))]

    return together


def _stack(arrays: Sequence[Array]) -> Array:
    """np.stack, which takes long to find a common type of records."""
    result = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for place, array in enumerate(arrays):
        result[place] = array
    return result


def _on_stacks(op: Op, rows: Sequence[Sequence[Array]]) -> Op | None:
    """The operation with one dimension more, the first; None where that is not the same."""
    count = len(rows)
    if op.name == hlo.dot_general.name:
        dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
        return _wide(op, count, dot_dimension_numbers=_on_each(dims))
    alike = all(array.shape == op.results[0].shape for array in rows[0]) if op.results else False
    if alike and has(op.name, Trait.ELEMENTWISE) and op.name != hlo.bitcast_convert.name:
        return _wide(op, count)
    return None


def _on_each(dims: DotDims) -> DotDims:
    def moved(numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(number + 1 for number in numbers)

    return DotDims(
        lhs_batching=(0, *moved(dims.lhs_batching)),
        rhs_batching=(0, *moved(dims.rhs_batching)),
        lhs_contracting=moved(dims.lhs_contracting),
        rhs_contracting=moved(dims.rhs_contracting),
    )


def _wide(op: Op, count: int, **attrs: Any) -> Op:
    return replace(
        op,
        operands=tuple(type.with_shape((count, *type.shape)) for type in op.operands),
        results=tuple(type.with_shape((count, *type.shape)) for type in op.results),
        attrs={**op.attrs, **attrs},
    )
