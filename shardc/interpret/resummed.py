"""Sums in another order, as devices have them.

    sum(x * 1e-3 + 1.0) > 64.0

Arguments that differ in their last place give the same terms here, so they don't show how far the sum may be
off. The same terms in another order do, and where all sums are exact they change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from shardc.graph import Op
from shardc.graph.attrs import DotDims
from shardc.ops import hlo, meaning
from shardc.ops.definition import Meaning
from shardc.semantics.arrays import Array, Body

Meanings = Callable[[str], Meaning | None]
"""What operations compute, by name."""


def resummed(seed: int) -> Meanings:
    """What operations compute where the terms of sums and products come in random orders."""
    rng = np.random.default_rng(seed)

    def of(name: str) -> Meaning | None:
        computes, mixed = meaning(name), _MIXED.get(name)
        if computes is None or mixed is None:
            return computes

        def other(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
            return computes(op, mixed(rng, op, arrays), *bodies)

        return other

    return of


def _terms(rng: np.random.Generator, op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    """The operands of a reduction, whose terms are in another order where it is a sum."""
    if op.combiner != "sum" or len(arrays) != 2:
        return arrays
    return [_taken(rng, arrays[:1], [cast("tuple[int, ...]", op.attrs["dimensions"])])[0], arrays[1]]


def _factors(rng: np.random.Generator, op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    """The operands of a product, along whose contracted dimensions elements are in another order."""
    dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
    return _taken(rng, arrays, [dims.lhs_contracting, dims.rhs_contracting])


def _taken(
    rng: np.random.Generator, arrays: Sequence[Array], dimensions: Sequence[Sequence[int]]
) -> list[Array]:
    """The arrays, along the dimensions of which the elements are in one other order for all."""
    found = [*arrays]
    for dims in zip(*dimensions, strict=True):
        order = rng.permutation(found[0].shape[dims[0]])
        found = [np.take(array, order, dim) for array, dim in zip(found, dims, strict=True)]
    return found


_MIXED: dict[str, Callable[[np.random.Generator, Op, Sequence[Array]], Sequence[Array]]] = {
    hlo.reduce.name: _terms,
    hlo.dot_general.name: _factors,
}
