"""Rules of products and factorisations of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from shardc.graph.attrs import DotDims
from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, partial_kind
from shardc.rules.rule import FactorRule, Kind


def dot_general(op: Op) -> FactorRule:
    """Factors: batching, free of the left, free of the right, contracting."""
    dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
    lhs, rhs = op.operands
    builder = RuleBuilder(op)
    out = 0
    for left, right in zip(dims.lhs_batching, dims.rhs_batching, strict=True):
        builder.factor(lhs.shape[left], {0: left, 1: right}, {0: out})
        out += 1
    for operand, bound in (
        (0, dims.lhs_batching + dims.lhs_contracting),
        (1, dims.rhs_batching + dims.rhs_contracting),
    ):
        for dim, size in enumerate(op.operands[operand].shape):
            if dim not in bound:
                builder.factor(size, {operand: dim}, {0: out})
                out += 1
    for left, right in zip(dims.lhs_contracting, dims.rhs_contracting, strict=True):
        builder.factor(lhs.shape[left], {0: left, 1: right}, kind=Kind.REDUCTION)
    return builder.build(reduction=partial_kind("sum", rhs.dtype), linear=[[0], [1]])


def dot(op: Op) -> FactorRule:
    """Vectors and matrices: contracts the last dimension of the left with the first of the right."""
    lhs, rhs = op.operands
    contracting = lhs.rank - 1
    builder = RuleBuilder(op)
    if lhs.rank == 2:
        builder.factor(lhs.shape[0], {0: 0}, {0: 0})
    if rhs.rank == 2:
        builder.factor(rhs.shape[1], {1: 1}, {0: contracting})
    builder.factor(rhs.shape[0], {0: contracting, 1: 0}, kind=Kind.REDUCTION)
    return builder.build(reduction=partial_kind("sum", rhs.dtype), linear=[[0], [1]])


RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "stablehlo.dot": dot,
    "stablehlo.dot_general": dot_general,
}
