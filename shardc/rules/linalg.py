"""Rules of linear algebra: products, factorisations, solves, Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from shardc.graph.attrs import DotDims
from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, ints, partial_kind
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


def cholesky(op: Op) -> FactorRule:
    """One factorisation per matrix; the matrices (the last two dimensions) must be whole."""
    shape = op.operands[0].shape
    builder = RuleBuilder(op)
    for dim, size in enumerate(shape):
        builder.along(dim, size, Kind.PASS if dim < len(shape) - 2 else Kind.REPLICATE)
    return builder.build()


def triangular_solve(op: Op) -> FactorRule:
    """op(a) x = b, or x op(a) = b if not left_side. The solutions are independent of each other: plain."""
    a, b = op.operands
    rows, columns = a.rank - 2, a.rank - 1
    left = bool(op.attrs.get("left_side", False))
    transposed = op.attrs.get("transpose_a") in ("TRANSPOSE", "ADJOINT")
    own, contracting = (columns, rows) if transposed == left else (rows, columns)
    bound, free = (rows, columns) if left else (columns, rows)
    builder = RuleBuilder(op)
    for dim in range(rows):
        builder.along(dim, a.shape[dim])
    equation = (a.shape[own], {0: own, 1: bound})
    if left:
        builder.factor(*equation, kind=Kind.REPLICATE)
    builder.factor(b.shape[free], {1: free}, {0: free}, Kind.REPLICATE, plain=True)
    if not left:
        builder.factor(*equation, kind=Kind.REPLICATE)
    builder.factor(a.shape[contracting], {0: contracting}, {0: bound}, Kind.REPLICATE)
    return builder.build(linear=[[1]])


def fft(op: Op) -> FactorRule:
    """Transformed dimensions (the last ones) must be whole; the last is blocked if its length changes."""
    shape, length = op.operands[0].shape, op.results[0].shape[-1]
    first = len(shape) - len(ints(op, "fft_length"))
    builder = RuleBuilder(op)
    for dim, size in enumerate(shape):
        changed = dim == len(shape) - 1 and size != length
        builder.along(dim, size, Kind.PASS if dim < first else Kind.REPLICATE, blocked=changed)
    return builder.build(linear=[[0]])


RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "stablehlo.cholesky": cholesky,
    "stablehlo.dot": dot,
    "stablehlo.dot_general": dot_general,
    "stablehlo.fft": fft,
    "stablehlo.triangular_solve": triangular_solve,
}
