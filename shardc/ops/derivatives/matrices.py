"""Stacks of matrices as terms: products, triangles, triangular systems, the rows that LU exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardc.graph.attrs import DotDims
from shardc.graph.types import TensorType
from shardc.ops import hlo
from shardc.ops.derivatives.terms import Term


def matmul(x: Term, y: Term, x_dim: int, y_dim: int) -> Term:
    """The product of stacked matrices over a dimension of each: -1 or -2."""
    rank = len(x.shape)
    batch = tuple(range(rank - 2))
    dims = DotDims(batch, batch, (rank + x_dim,), (rank + y_dim,))
    return x.op(hlo.dot_general, y, dot_dimension_numbers=dims)


def triangle(x: Term, *, lower: bool, strict: bool = False) -> Term:
    """Its lower or upper triangle, without the diagonal if strict."""
    rank = len(x.shape)
    type = TensorType(x.shape, "i32")
    rows, columns = x.iota(type, rank - 2), x.iota(type, rank - 1)
    first, last = (rows, columns) if lower else (columns, rows)
    return x.where(first.compare("GT" if strict else "GE", last))


def solve(a: Term, b: Term, *, left: bool, lower: bool, transposed: bool, unit: bool = False) -> Term:
    return a.op(
        hlo.triangular_solve,
        b,
        left_side=left,
        lower=lower,
        unit_diagonal=unit,
        transpose_a="TRANSPOSE" if transposed else "NO_TRANSPOSE",
    )


def swapped(x: Term) -> Term:
    rank = len(x.shape)
    return x.transpose([*range(rank - 2), rank - 1, rank - 2])


def diagonal_of(x: Term) -> Term:
    """Where rows and columns of matrices meet: their diagonals on zeros, as truth values."""
    type = TensorType(x.shape, "i32")
    return x.iota(type, len(x.shape) - 2).compare("EQ", x.iota(type, len(x.shape) - 1))


def as_rows(vector: Term, size: int) -> Term:
    """A vector as each of the rows of a matrix."""
    rank = len(vector.shape) + 1
    shape = (*vector.shape[:-1], size, vector.shape[-1])
    return vector.broadcast(shape, (*range(rank - 2), rank - 1))


def as_columns(vector: Term, size: int) -> Term:
    """A vector as each of the columns of a matrix."""
    return vector.broadcast((*vector.shape, size), tuple(range(len(vector.shape))))


def permutation(pivots: Term, size: int) -> Term:
    """Which row LU put at each place, from the rows that it exchanged one after another, counted from 1."""
    batch, count = pivots.shape[:-1], pivots.shape[-1]
    type = pivots.type.with_shape((*batch, size))
    start, scalar = pivots.iota(type, len(batch)), pivots.type.with_shape(())

    def goes_on(b: Any, i: Any, *_: Any) -> Sequence[Any]:
        return [Term(b, i).compare("LT", count).v]

    def turn(b: Any, i: Any, perm: Any, all_pivots: Any) -> Sequence[Any]:
        step, rows, swaps = Term(b, i), Term(b, perm), Term(b, all_pivots)
        first = [step.filled(0)] * len(batch)

        def one(x: Term) -> Term:
            sizes = (*batch, 1)
            taken = x.op(hlo.dynamic_slice, *first, step, slice_sizes=sizes)
            return taken.reshape(batch).broadcast(type.shape, tuple(range(len(batch))))

        place = rows.iota(type, len(batch))
        other = one(swaps) - 1
        there = place.compare("EQ", other)
        own, theirs = one(rows), rows.where(there).sum((len(batch),))
        theirs = theirs.broadcast(type.shape, tuple(range(len(batch))))
        here = place.compare("EQ", step.broadcast(type.shape, ()))
        return [(step + 1).v, theirs.where(here, own.where(there, rows)).v, all_pivots]

    types = (scalar, type, pivots.type)
    found = pivots.filled(0, scalar).ops(
        hlo.while_, start, pivots, results=types, regions=[(types, goes_on), (types, turn)]
    )
    return found[1]
