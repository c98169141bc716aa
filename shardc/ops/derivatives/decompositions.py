"""Derivatives of the calls of LAPACK that decompose matrices: LU, eigenvectors, singular values.

They are those of real matrices, but for the eigenvalues of any matrix, which may be complex.

Formulas: Giles, "Collected matrix derivative results"; Townsend, "Differentiating the singular value
decomposition". Where eigenvalues or singular values are equal there is none, and the result is not finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardc.graph.types import is_complex
from shardc.ops import chlo, hlo
from shardc.ops.derivative import Cotangents, Missing, Step
from shardc.ops.derivatives.matrices import (
    as_columns,
    as_rows,
    diagonal_of,
    matmul,
    permutation,
    solve,
    swapped,
    triangle,
)
from shardc.ops.derivatives.terms import Term
from shardc.semantics.lapack import options_of, routine


def decomposition(step: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Mapping[int, Any]:
    """The cotangent of the matrices that a custom call decomposes."""
    target = str(step.op.attrs["call_target_name"])
    formula = _FORMULAS.get(routine(target) or "")
    if formula is None:
        raise Missing(f"custom call {target} has no derivative")
    if is_complex(step.op.operands[0].dtype) and formula is not _eig:
        raise Missing("the derivative is that of real matrices")
    return {0: formula(step, cotangents)}


def _lu(s: Step, cts: Cotangents) -> Term:
    """P L^-T (tril(L^T ct, -1) + triu(ct U^T)) U^-T"""
    lu, ct = s.result(0), cts[0]
    rows, columns = lu.shape[-2:]
    if rows != columns:
        raise Missing("the derivative of LU is that of square matrices")
    eye = lu.filled(1.0).where(diagonal_of(lu))
    lower = triangle(lu, lower=True, strict=True) + eye
    upper = triangle(lu, lower=False)
    below = triangle(matmul(lower, triangle(ct, lower=True, strict=True), -2, -2), lower=True, strict=True)
    above = triangle(matmul(triangle(ct, lower=False), upper, -1, -1), lower=False)
    left = solve(lu, below + above, left=True, lower=True, transposed=True, unit=True)
    inner = solve(lu, left, left=False, lower=False, transposed=True)
    order = as_columns(permutation(s.result(1), rows), rows)
    chosen = order.compare("EQ", order.iota(order.type, len(order.shape) - 1))
    return matmul(lu.filled(1.0).where(chosen), inner, -2, -2)


def _gaps(values: Term) -> Term:
    """1 / (values[j] - values[i]), and 0 in the diagonal."""
    size = values.shape[-1]
    apart = as_rows(values, size) - as_columns(values, size)
    same = diagonal_of(apart)
    return apart.filled(0.0).where(same, 1.0 / apart.filled(1.0).where(same, apart))


def _eigh(s: Step, cts: Cotangents) -> Term:
    """V (diag(ct_w) + gaps * (V^T ct_V)) V^T"""
    vectors, values = s.result(0), s.result(1)
    size = values.shape[-1]
    inner = vectors.filled(0.0) if cts[0] is None else _gaps(values) * matmul(vectors, cts[0], -2, -2)
    if cts[1] is not None:
        inner = inner + as_rows(cts[1], size).where(diagonal_of(vectors))
    return matmul(matmul(vectors, inner, -1, -2), vectors, -1, -1)


def _eig(s: Step, cts: Cotangents) -> Term:
    """The sum of ct[i] conj(left[i]) right[i]^T / (conj(left[i]) . right[i]); real of real matrices.

    Giles, 3.1, where the inverse of the right eigenvectors is their product with the left ones.
    """
    *ct_values, ct_left, ct_right, _ = cts
    if ct_left is not None or ct_right is not None:
        raise Missing("eigenvectors of eig have no derivative; its eigenvalues do, and eigh has both")
    both = tuple((side, ord("V")) for side in ("compute_left", "compute_right"))
    attrs = {**s.op.attrs, "mhlo.backend_config": both}
    *_, left, right, _ = s.x.ops(hlo.custom_call, results=list(s.op.results), **attrs)
    zero = s.result(0).filled(0.0)
    ct, *imaginary = (zero if one is None else one for one in ct_values)
    if imaginary:
        ct = ct.op(hlo.complex_, -imaginary[0])
    left, size = left.op(chlo.conj), right.shape[-1]
    rank = len(left.shape)
    weighed = right * as_rows(ct / (left * right).sum((rank - 2,)), size)
    return matmul(left, weighed, -1, -1).cast(s.x.type.dtype)


def _svd(s: Step, cts: Cotangents) -> Term:
    """Townsend's formula, of singular vectors as many as there are singular values."""
    x, (_, ct_values, ct_u, ct_v, *_) = s.x, cts
    if options_of(s.op.attrs)["mode"] == ord("N"):
        attrs = {**s.op.attrs, "mhlo.backend_config": (("mode", ord("S")),)}
        rows, columns = x.shape[-2:]
        size, types = min(rows, columns), list(s.op.results)
        types[2], types[3] = (
            x.type.with_shape((*x.shape[:-2], *shape)) for shape in ((rows, size), (size, columns))
        )
        _, values, u, v, _ = x.ops(hlo.custom_call, results=types, **attrs)
    else:
        values, u, v = s.result(1), s.result(2), s.result(3)
    size = values.shape[-1]
    if u.shape[-1] != size or v.shape[-2] != size:
        raise Missing("the derivative of svd is that of full_matrices=False")
    v = swapped(v)
    gaps, across = _gaps(values * values), as_rows(values, size)
    total: Term | None = None
    if ct_values is not None:
        square = across.filled(1.0).where(diagonal_of(across)) * as_rows(ct_values, size)
        total = matmul(matmul(u, square, -1, -2), v, -1, -1)
    if ct_u is not None:
        turned = matmul(u, ct_u, -2, -2)
        inner = gaps * (turned - swapped(turned)) * across
        outside = (ct_u - matmul(u, turned, -1, -2)) / as_rows(values, u.shape[-2])
        part = matmul(matmul(u, inner, -1, -2) + outside, v, -1, -1)
        total = part if total is None else total + part
    if ct_v is not None:
        ct = swapped(ct_v)
        turned = matmul(v, ct, -2, -2)
        inner = as_columns(values, size) * (gaps * (turned - swapped(turned)))
        outside = (ct - matmul(v, turned, -1, -2)) / as_rows(values, v.shape[-2])
        part = matmul(u, matmul(inner, v, -1, -1) + swapped(outside), -1, -2)
        total = part if total is None else total + part
    return x.filled(0.0) if total is None else total


_FORMULAS = {"getrf": _lu, "syevd": _eigh, "gesdd": _svd, "geev": _eig}
