"""What the LAPACK routines compute that JAX calls on CPU for linear algebra (`lapack_spotrf_ffi` and so on).

Each takes stacks of matrices and the routine's own one-letter options as character codes, and gives arrays in
the order of the custom call's results, `info` last where there is one. SciPy has the same routines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shardc.semantics.arrays import Array
from shardc.semantics.deferred import lapack_routines
from shardc.semantics.linear_algebra import triangular_solve

_TARGET = re.compile(r"lapack_([sdcz])(\w+)_ffi")


def lapack(target: str, *arrays: Array, **options: int) -> list[Array]:
    """The results of the custom call `target`. KeyError if it is none of LAPACK's that are known."""
    match = _TARGET.fullmatch(target)
    name = {"ungqr": "orgqr", "heevd": "syevd"}.get(match[2], match[2]) if match else target
    return ROUTINES[name](*arrays, **options)


def is_known(target: str) -> bool:
    """Whether `lapack` knows a custom call's target."""
    match = _TARGET.fullmatch(target)
    return match is not None and match[2] in ROUTINES


def _function(name: str, array: Array) -> Callable[..., Any]:
    (function,) = lapack_routines.get_lapack_funcs((name,), (array,))
    return function


def _stacked(
    matrices: Array, one: Callable[[Array], Sequence[Array]], shapes: Sequence[tuple[int, ...]]
) -> list[Array]:
    """`one` of every matrix of a stack; `shapes` are those of its results, for stacks of none."""
    batch = matrices.shape[:-2]
    rows = [one(matrices[index]) for index in np.ndindex(*batch)]
    columns = [np.array([row[i] for row in rows]) for i in range(len(shapes))]
    return [np.reshape(c, (*batch, *shape)) for c, shape in zip(columns, shapes, strict=True)]


def potrf(x: Array, *, uplo: int) -> list[Array]:
    """Cholesky: the factor in one triangle, x in the other; info is 0 where it succeeded."""
    function, size = _function("potrf", x), x.shape[-1]

    def one(matrix: Array) -> Sequence[Array]:
        factor, info = function(matrix, lower=uplo == ord("L"), clean=False)
        return factor, np.asarray(info, np.int32)

    return _stacked(x, one, [(size, size), ()])


def trsm(a: Array, b: Array, *, side: int, uplo: int, trans_x: int, diag: int) -> list[Array]:
    """op(a) x = b or x op(a) = b, with a triangular."""
    how = {ord("N"): "NO_TRANSPOSE", ord("T"): "TRANSPOSE", ord("C"): "ADJOINT"}[trans_x]
    solution = triangular_solve(
        a,
        b,
        left_side=side == ord("L"),
        lower=uplo == ord("L"),
        unit_diagonal=diag == ord("U"),
        transpose_a=how,
    )
    return [solution]


def getrf(x: Array) -> list[Array]:
    """LU with row interchanges, which count from 1."""
    function, (rows, columns) = _function("getrf", x), x.shape[-2:]

    def one(matrix: Array) -> Sequence[Array]:
        factors, pivots, info = function(matrix)
        return factors, np.asarray(pivots + 1, np.int32), np.asarray(info, np.int32)

    return _stacked(x, one, [(rows, columns), (min(rows, columns),), ()])


def geqrf(x: Array) -> list[Array]:
    """QR: R in the upper triangle, Householder vectors below it, their scales."""
    function, (rows, columns) = _function("geqrf", x), x.shape[-2:]

    def one(matrix: Array) -> Sequence[Array]:
        factors, scales, _, _ = function(matrix)
        return factors, scales

    return _stacked(x, one, [(rows, columns), (min(rows, columns),)])


def orgqr(x: Array, scales: Array) -> list[Array]:
    """The orthogonal matrix of Householder vectors."""
    name = "ungqr" if np.iscomplexobj(x) else "orgqr"
    function, batch = _function(name, x), x.shape[:-2]
    result = np.empty_like(x)
    for index in np.ndindex(*batch):
        result[index] = function(x[index], scales[index])[0]
    return [result]


def gtsv(lower: Array, diagonal: Array, upper: Array, b: Array) -> list[Array]:
    """Solutions with tridiagonal matrices; each diagonal has n numbers, of which one is not read."""
    function, batch = _function("gtsv", b), b.shape[:-2]
    solution, info = np.empty_like(b), np.zeros(batch, np.int32)
    for index in np.ndindex(*batch):
        off = lower[index][1:], upper[index][:-1]
        *_, solution[index], info[index] = function(off[0], diagonal[index], off[1], b[index])
    return [lower, diagonal, upper, solution, info]


def syevd(x: Array, *, mode: int, uplo: int) -> list[Array]:
    """Eigenvectors and eigenvalues of symmetric matrices."""
    name = "heevd" if np.iscomplexobj(x) else "syevd"
    function, size = _function(name, x), x.shape[-1]

    def one(matrix: Array) -> Sequence[Array]:
        values, vectors, info = function(matrix, compute_v=mode == ord("V"), lower=uplo == ord("L"))
        return vectors, values, np.asarray(info, np.int32)

    return _stacked(x, one, [(size, size), (size,), ()])


def gesdd(x: Array, *, mode: int) -> list[Array]:
    """Singular values; u and the adjoint of v in full for mode A, without what does not matter for S."""
    function, (rows, columns) = _function("gesdd", x), x.shape[-2:]
    inner = min(rows, columns)
    full = mode == ord("A")

    def one(matrix: Array) -> Sequence[Array]:
        u, values, v, info = function(matrix, compute_uv=mode != ord("N"), full_matrices=full)
        if mode == ord("N"):
            u, v = np.zeros((rows, rows), x.dtype), np.zeros((columns, columns), x.dtype)
        return matrix, values, u, v, np.asarray(info, np.int32)

    whole = full or mode == ord("N")
    u, v = ((rows, rows), (columns, columns)) if whole else ((rows, inner), (inner, columns))
    return _stacked(x, one, [(rows, columns), (inner,), u, v, ()])


ROUTINES: dict[str, Callable[..., list[Array]]] = {
    "geqrf": geqrf,
    "gesdd": gesdd,
    "getrf": getrf,
    "gtsv": gtsv,
    "heevd": syevd,
    "orgqr": orgqr,
    "potrf": potrf,
    "syevd": syevd,
    "trsm": trsm,
    "ungqr": orgqr,
}
