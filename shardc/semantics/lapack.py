"""What the LAPACK routines compute that JAX calls on CPU for linear algebra (`lapack_spotrf_ffi` and so on).

Each takes stacks of matrices and the routine's own one-letter options as character codes, and gives arrays in
the order of the custom call's results, `info` last where there is one. SciPy has the same routines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from shardc.semantics.arrays import Array
from shardc.semantics.deferred import lapack_routines
from shardc.semantics.linear_algebra import triangular_solve

_TARGET = re.compile(r"lapack_([sdcz])(\w+)_ffi")


_INFO = np.dtype(np.int32)

_SAME = {"heevd": "syevd", "hetrd": "sytrd", "ungqr": "orgqr", "unmqr": "ormqr"}
"""Routines of complex matrices that do what another does of real ones."""


def lapack(target: str, *arrays: Array, **options: int) -> list[Array]:
    """The results of the custom call `target`. KeyError if it is none of LAPACK's that are known."""
    return ROUTINES[routine(target) or target](*arrays, **options)


def routine(target: str) -> str | None:
    """The name in ROUTINES of a custom call's target; None where it is none of these."""
    match = _TARGET.fullmatch(target)
    name = _SAME.get(match[2], match[2]) if match else ""
    return name if name in ROUTINES else None


def is_known(target: str, options: Mapping[str, int]) -> bool:
    """Whether `lapack` knows a custom call's target. Schur forms in an order it does not: no file has it."""
    name = routine(target)
    return name is not None and (name != "gees" or options.get("sort", ord("N")) == ord("N"))


OPTIONS = "mhlo.backend_config"
"""The attribute that has the options of a call."""


def options_of(attrs: Mapping[str, object]) -> dict[str, int]:
    """The options that a custom call says: a letter as its code, a number or a truth value."""
    return dict(cast("tuple[tuple[str, int], ...]", attrs.get(OPTIONS) or ()))


def _function(name: str, array: Array) -> Callable[..., Any]:
    (function,) = lapack_routines.get_lapack_funcs((name,), (array,))
    return function


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of the parts of complex numbers; of real ones their own."""
    return np.real(np.empty(0, dtype)).dtype


def _stacked(
    matrices: Array,
    one: Callable[[Array], Sequence[Array]],
    shapes: Sequence[tuple[int, ...]],
    dtypes: Sequence[np.dtype[Any]],
) -> list[Array]:
    """`one` of every matrix of a stack; the shapes and dtypes of its results hold for stacks of none, too."""
    batch = matrices.shape[:-2]
    rows = [one(matrices[index]) for index in np.ndindex(*batch)]
    columns = [np.array([row[i] for row in rows], dtype) for i, dtype in enumerate(dtypes)]
    return [np.reshape(c, (*batch, *shape)) for c, shape in zip(columns, shapes, strict=True)]


def result_types(
    target: str, operands: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], options: Mapping[str, int]
) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    """The shapes and dtypes of what `lapack` gives for arrays of these, which are stacks of one rank or more.

    They are those of stacks of none.
    """
    stacks = [np.empty((0, *shape), dtype) for shape, dtype in operands]
    return [(array.shape[1:], array.dtype) for array in lapack(target, *stacks, **options)]


def potrf(x: Array, *, uplo: int) -> list[Array]:
    """Cholesky: the factor in one triangle, x in the other; info is 0 where it succeeded."""
    function, size = _function("potrf", x), x.shape[-1]

    def one(matrix: Array) -> Sequence[Array]:
        factor, info = function(matrix, lower=uplo == ord("L"), clean=False)
        return factor, np.asarray(info, np.int32)

    return _stacked(x, one, [(size, size), ()], [x.dtype, _INFO])


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

    return _stacked(x, one, [(rows, columns), (min(rows, columns),), ()], [x.dtype, _INFO, _INFO])


def geqrf(x: Array) -> list[Array]:
    """QR: R in the upper triangle, Householder vectors below it, their scales."""
    function, (rows, columns) = _function("geqrf", x), x.shape[-2:]

    def one(matrix: Array) -> Sequence[Array]:
        factors, scales, _, _ = function(matrix)
        return factors, scales

    return _stacked(x, one, [(rows, columns), (min(rows, columns),)], [x.dtype, x.dtype])


def orgqr(x: Array, scales: Array) -> list[Array]:
    """The orthogonal matrix of Householder vectors."""
    name = "ungqr" if np.iscomplexobj(x) else "orgqr"
    function, batch = _function(name, x), x.shape[:-2]
    result = np.empty_like(x)
    for index in np.ndindex(*batch):
        result[index] = function(x[index], scales[index])[0]
    return [result]


def ormqr(x: Array, scales: Array, c: Array, *, left: int, transpose: int) -> list[Array]:
    """Q c or c Q, or with the adjoint of Q, which is given as Householder vectors."""
    is_complex, batch = np.iscomplexobj(x), x.shape[:-2]
    function, count = _function("unmqr" if is_complex else "ormqr", x), scales.shape[-1]
    adjoint = "C" if is_complex else "T"
    result = np.empty_like(c)
    for index in np.ndindex(*batch):
        vectors, work = x[index][:, :count], max(c.shape[-2:])
        how = "L" if left else "R", adjoint if transpose else "N"
        result[index] = function(*how, vectors, scales[index], c[index], work)[0]
    return [result]


def gehrd(x: Array, *, low: int, high: int) -> list[Array]:
    """Hessenberg matrices, Householder vectors below them, their scales; rows count from 1."""
    function, size = _function("gehrd", x), x.shape[-1]

    def one(matrix: Array) -> Sequence[Array]:
        vectors, scales, info = function(matrix, lo=low - 1, hi=high - 1)
        return vectors, scales, np.asarray(info, np.int32)

    return _stacked(x, one, [(size, size), (size - 1,), ()], [x.dtype, x.dtype, _INFO])


def sytrd(x: Array, *, uplo: int) -> list[Array]:
    """Tridiagonal matrices of symmetric ones: Householder vectors, both diagonals, the vectors' scales."""
    function, size = _function("hetrd" if np.iscomplexobj(x) else "sytrd", x), x.shape[-1]

    def one(matrix: Array) -> Sequence[Array]:
        vectors, diagonal, off, scales, info = function(matrix, lower=uplo == ord("L"))
        return vectors, diagonal, off, scales, np.asarray(info, np.int32)

    return _stacked(
        x,
        one,
        [(size, size), (size,), (size - 1,), (size - 1,), ()],
        [x.dtype, _real(x.dtype), _real(x.dtype), x.dtype, _INFO],
    )


def geev(x: Array, *, compute_left: int, compute_right: int) -> list[Array]:
    """Eigenvalues, of real matrices in two parts, left and right eigenvectors: zeros if not wanted."""
    function, size = _function("geev", x), x.shape[-1]
    wanted = {"compute_vl": compute_left == ord("V"), "compute_vr": compute_right == ord("V")}

    def one(matrix: Array) -> Sequence[Array]:
        *values, left, right, info = function(matrix, **wanted)
        vectors = [
            _unpacked(packed, values[1] if len(values) == 2 else None) if made else np.zeros((size, size))
            for packed, made in zip((left, right), wanted.values(), strict=True)
        ]
        return *values, *vectors, np.asarray(info, np.int32)

    parts = 1 if np.iscomplexobj(x) else 2
    dtype = np.result_type(x.dtype, np.complex64)
    return _stacked(
        x,
        one,
        [*[(size,)] * parts, (size, size), (size, size), ()],
        [*[x.dtype] * parts, dtype, dtype, _INFO],
    )


def gees(x: Array, *, mode: int, sort: int) -> list[Array]:
    """Schur forms, their vectors, eigenvalues (of real matrices in two parts). `sort` is N: in no order."""
    function, size = _function("gees", x), x.shape[-1]

    def one(matrix: Array) -> Sequence[Array]:
        form, found, *values, vectors, _, info = function(_any, matrix, compute_v=1)
        return form, vectors, *values, np.asarray(found, np.int32), np.asarray(info, np.int32)

    parts = 1 if np.iscomplexobj(x) else 2
    return _stacked(
        x,
        one,
        [(size, size), (size, size), *[(size,)] * parts, (), ()],
        [*[x.dtype] * (2 + parts), _INFO, _INFO],
    )


def _any(*_: Any) -> None:
    """Of which eigenvalues to begin with: gees wants to be told, also if it does not sort."""


def _unpacked(packed: Array, imaginary: Array | None) -> Array:
    """Eigenvectors: those of a pair of conjugate eigenvalues are two columns, real and imaginary part."""
    if imaginary is None:
        return packed
    vectors = packed.astype(np.result_type(packed.dtype, np.complex64))
    for j in np.flatnonzero(imaginary > 0):
        vectors[:, j] = packed[:, j] + 1j * packed[:, j + 1]
        vectors[:, j + 1] = vectors[:, j].conj()
    return vectors


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

    return _stacked(x, one, [(size, size), (size,), ()], [x.dtype, _real(x.dtype), _INFO])


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
    return _stacked(
        x,
        one,
        [(rows, columns), (inner,), u, v, ()],
        [x.dtype, _real(x.dtype), x.dtype, x.dtype, _INFO],
    )


ROUTINES: dict[str, Callable[..., list[Array]]] = {
    "gees": gees,
    "geev": geev,
    "gehrd": gehrd,
    "geqrf": geqrf,
    "gesdd": gesdd,
    "getrf": getrf,
    "gtsv": gtsv,
    "orgqr": orgqr,
    "ormqr": ormqr,
    "potrf": potrf,
    "syevd": syevd,
    "sytrd": sytrd,
    "trsm": trsm,
}
