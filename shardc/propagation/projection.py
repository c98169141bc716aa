"""A tensor's sharding told factor by factor, and back.

A dimension of size 8 that an operation sees as 2 x 4 has two factors. Its axes are handed to the factors
from major to minor: with axes x=4, y=2 the major factor gets x:(1)2 and the minor one x:(2)2, y. An axis that
shares no divisor with what is left of a factor, and everything after it, *overflows* that factor: the axes
stay where they are, but nothing in that dimension can be propagated any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from msgspec import Struct

from shardc.layout import Axis, Dim, Mesh, Sharding, merge, size_of
from shardc.ops.rule import Dims, FactorRule
from shardc.propagation.lists import Axes, extends

_OPEN = Dim(open=True)


class FactorSharding(Struct):
    """The axes of one factor in one tensor.

    `minor_most` says that it is the last factor of its dimension, which axes need not divide.
    """

    axes: Axes
    closed: bool = False
    minor_most: bool = True
    overflow: Axes = ()


class TensorProjection(Struct):
    """One tensor: its factors by index, and the axes that may not split it."""

    factors: dict[int, FactorSharding]
    replicated: Axes = ()
    unreduced: Axes = ()

    def expand(self, factor: int, axes: Axes) -> bool:
        """Give a factor a longer list of axes; False if the list is not longer or the factor is not here."""
        held = self.factors.get(factor)
        if held is None or not extends(axes, held.axes):
            return False
        held.axes = axes
        return True


class Projection(Struct):
    """All tensors of one operation, and the sizes of its factors."""

    operands: list[TensorProjection]
    results: list[TensorProjection]
    sizes: tuple[int, ...]

    @property
    def tensors(self) -> list[TensorProjection]:
        """Operands, then results."""
        return self.operands + self.results


def project(rule: FactorRule, shardings: Sequence[Sharding | None]) -> Projection:
    """The shardings of an operation's operands and results by factor. None stands for open everywhere."""
    sizes = tuple(factor.size for factor in rule.factors)
    tensors = [project_tensor(s, dims, sizes) for s, dims in zip(shardings, rule.tensors, strict=True)]
    count = len(rule.operands)
    return Projection(tensors[:count], tensors[count:], sizes)


def project_tensor(sharding: Sharding | None, dims: Dims, sizes: Sequence[int]) -> TensorProjection:
    """One tensor's sharding by factor."""
    factors: dict[int, FactorSharding] = {}
    for place, dim_factors in enumerate(dims):
        _hand_out(sharding.dims[place] if sharding else _OPEN, dim_factors, sizes, factors)
    if sharding is None:
        return TensorProjection(factors)
    return TensorProjection(factors, sharding.replicated, sharding.unreduced)


def _hand_out(
    dim: Dim, dim_factors: Sequence[int], sizes: Sequence[int], factors: dict[int, FactorSharding]
) -> None:
    rest = list(dim.axes)
    for factor in dim_factors[:-1]:
        held, left = _take(rest, sizes[factor])
        overflow = merge(rest) if left > 1 else ()
        factors[factor] = FactorSharding(held, not dim.open, False, overflow)
        if overflow:
            following = dim_factors[dim_factors.index(factor) + 1]
            factors[following] = FactorSharding((), True, following == dim_factors[-1])
            return
    if dim_factors:
        factors[dim_factors[-1]] = FactorSharding(merge(rest), not dim.open)


def _take(rest: list[Axis], size: int) -> tuple[Axes, int]:
    """Take axes for a factor off the front of `rest`; what is left of the factor's size too."""
    taken: list[Axis] = []
    while rest and ((part := gcd(size, rest[0].size)) > 1 or rest[0].size == 1):
        axis = rest.pop(0)
        if part < axis.size:
            rest.insert(0, Axis(axis.name, axis.size // part, axis.pre * part))
            axis = Axis(axis.name, part, axis.pre)
        taken.append(axis)
        size //= part
    return tuple(taken), size


def unproject(tensor: TensorProjection, dims: Dims, sizes: Sequence[int], mesh: Mesh, kind: str) -> Sharding:
    """The sharding that a projection stands for; `kind` is that of its partial sums.

    A dimension's axes end where a factor overflows or is not split completely: what a more minor factor holds
    beyond that would be a strided view.
    """
    return Sharding(
        mesh,
        tuple(_gather(tensor, dim_factors, sizes) for dim_factors in dims),
        tensor.replicated,
        tensor.unreduced,
        kind,
    )


def _gather(tensor: TensorProjection, dim_factors: Sequence[int], sizes: Sequence[int]) -> Dim:
    axes: list[Axis] = []
    closed = False
    for factor in dim_factors:
        held = tensor.factors[factor]
        closed = closed or held.closed
        axes.extend(held.axes)
        axes.extend(held.overflow)
        if held.overflow or size_of(held.axes) < sizes[factor]:
            break
    return Dim(merge(axes), not closed)
