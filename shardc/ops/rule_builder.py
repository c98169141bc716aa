"""Putting a factor rule together, one factor at a time, and reading an operation's attributes.

A factor's index is the order in which it is added. Dimensions that no factor covers get one of size 1 of
their own at the end, operands first, as in sdy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import cast

from shardc.graph.program import Op
from shardc.ops.rule import Dims, Factor, FactorRule, Kind

Groups = Sequence[Sequence[int]]
"""Groups of operand numbers, for the fields of FactorRule that say how partial results flow."""


class RuleBuilder:
    """Collects the factors of one operation."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self._factors: list[Factor] = []
        self._operands: list[list[list[int]]] = [[[] for _ in t.shape] for t in op.operands]
        self._results: list[list[list[int]]] = [[[] for _ in t.shape] for t in op.results]

    def factor(
        self,
        size: int,
        operands: Mapping[int, int] | None = None,
        results: Mapping[int, int] | None = None,
        kind: Kind = Kind.PASS,
        *,
        blocked: bool = False,
        plain: bool | None = None,
    ) -> RuleBuilder:
        """Add a factor to the given dimension of each given operand and result (number -> dimension).

        A dimension that has factors already gets it as its minor-most one, unless its size is 1.
        """
        index = len(self._factors)
        self._factors.append(Factor(size, kind, blocked, plain))
        for tensors, dims in ((self._operands, operands or {}), (self._results, results or {})):
            for tensor, dim in dims.items():
                if size != 1 or not tensors[tensor][dim]:
                    tensors[tensor][dim].append(index)
        return self

    def along(
        self, dim: int, size: int, kind: Kind = Kind.PASS, *, blocked: bool = False, plain: bool | None = None
    ) -> RuleBuilder:
        """Add a factor to dimension `dim` of every tensor that is not a scalar."""
        operands = {i: dim for i, t in enumerate(self._op.operands) if t.rank}
        results = {i: dim for i, t in enumerate(self._op.results) if t.rank}
        return self.factor(size, operands, results, kind, blocked=blocked, plain=plain)

    def build(
        self,
        *,
        reduction: str | None = None,
        linear: Groups = (),
        monotone: Groups = (),
        antitone: Groups = (),
        max_only: Groups = (),
        min_only: Groups = (),
        once: Sequence[int] = (),
    ) -> FactorRule:
        """The rule, without groups whose operands cannot be partial (sums of bool, maxima of complex)."""
        self._cover()
        return FactorRule(
            tuple(self._factors),
            _frozen(self._operands),
            _frozen(self._results),
            reduction,
            self._groups(linear, ("bool",)),
            self._groups(monotone, ("c64", "c128")),
            self._groups(antitone, ("c64", "c128")),
            self._groups(max_only, ("c64", "c128")),
            self._groups(min_only, ("c64", "c128")),
            frozenset(once),
        )

    def _cover(self) -> None:
        for dim in chain.from_iterable(chain(self._operands, self._results)):
            if not dim:
                dim.append(len(self._factors))
                self._factors.append(Factor(1, plain=False))

    def _groups(self, groups: Groups, without: Sequence[str]) -> tuple[frozenset[int], ...]:
        types = self._op.operands
        return tuple(
            frozenset(group)
            for group in groups
            if group and not any(types[operand].dtype in without for operand in group)
        )


def pointwise(
    op: Op,
    *,
    linear: Groups = (),
    monotone: Groups = (),
    antitone: Groups = (),
    max_only: Groups = (),
    min_only: Groups = (),
) -> FactorRule:
    """One factor per dimension of the first result, shared by all tensors that are not scalars."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.results[0].shape):
        builder.along(dim, size)
    return builder.build(
        linear=linear, monotone=monotone, antitone=antitone, max_only=max_only, min_only=min_only
    )


def partial_kind(combiner: str | None, dtype: str) -> str | None:
    """How partial results combine that a region (see graph.program.combiner) made: sum, max, min, or None.

    On bool, `and` and products are minima, `or` and sums are maxima. Complex numbers have no order.
    """
    if dtype == "bool":
        return {"sum": "max", "or": "max", "max": "max", "prod": "min", "and": "min", "min": "min"}.get(
            combiner or ""
        )
    if combiner == "sum" or (combiner in ("max", "min") and dtype not in ("c64", "c128")):
        return combiner
    return None


def ints(op: Op, key: str, default: Sequence[int] = ()) -> tuple[int, ...]:
    """An attribute that is an array of integers."""
    return cast("tuple[int, ...]", op.attrs.get(key, tuple(default)))


def integer(op: Op, key: str, default: int) -> int:
    """An attribute that is one integer."""
    return cast(int, op.attrs.get(key, default))


def pairs(op: Op, key: str, rank: int) -> tuple[tuple[int, int], ...]:
    """An attribute that is a (low, high) per dimension; zeros if it is absent."""
    return cast("tuple[tuple[int, int], ...]", op.attrs.get(key, ((0, 0),) * rank))


def _frozen(tensors: list[list[list[int]]]) -> tuple[Dims, ...]:
    return tuple(tuple(tuple(dim) for dim in dims) for dims in tensors)
