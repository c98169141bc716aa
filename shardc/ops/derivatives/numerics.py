"""Derivatives of Cholesky's factor and triangular systems (Murray, arXiv:1602.07527), and of transforms."""

from __future__ import annotations

from math import prod
from typing import cast

from shardc.graph.attrs import DotDims
from shardc.graph.types import TensorType, is_complex
from shardc.ops import chlo, hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Derivative, Missing, Step, linear, pulls
from shardc.ops.derivatives.terms import Term


def _matmul(x: Term, y: Term, x_dim: int, y_dim: int) -> Term:
    """The product of stacked matrices over a dimension of each: -1 or -2."""
    rank = len(x.shape)
    batch = tuple(range(rank - 2))
    dims = DotDims(batch, batch, (rank + x_dim,), (rank + y_dim,))
    return x.op(hlo.dot_general, y, dot_dimension_numbers=dims)


def _triangle(x: Term, lower: bool, strict: bool = False) -> Term:
    """Its lower or upper triangle, without the diagonal if strict."""
    rank = len(x.shape)
    type = TensorType(x.shape, "i32")
    rows, columns = x.iota(type, rank - 2), x.iota(type, rank - 1)
    first, last = (rows, columns) if lower else (columns, rows)
    return x.where(first.compare("GT" if strict else "GE", last))


def _solve(a: Term, b: Term, *, left: bool, lower: bool, transposed: bool, unit: bool = False) -> Term:
    return a.op(
        hlo.triangular_solve,
        b,
        left_side=left,
        lower=lower,
        unit_diagonal=unit,
        transpose_a="TRANSPOSE" if transposed else "NO_TRANSPOSE",
    )


def _swapped(x: Term) -> Term:
    rank = len(x.shape)
    return x.transpose([*range(rank - 2), rank - 1, rank - 2])


def _real(s: Step) -> None:
    if is_complex(s.op.operands[0].dtype):
        raise Missing("the derivative is that of real matrices")


def _cholesky(s: Step, ct: Term) -> Term:
    """S = L^-T P L^-1, where P is the lower triangle of L^T ct with half its diagonal."""
    _real(s)
    lower = bool(s.op.attrs.get("lower", False))
    factor, ct = (s.out, ct) if lower else (_swapped(s.out), _swapped(ct))
    factor, ct = _triangle(factor, lower=True), _triangle(ct, lower=True)
    product = _matmul(factor, ct, -2, -2)
    half = (_triangle(product, lower=True) + _triangle(product, lower=True, strict=True)) * 0.5
    left = _solve(factor, half, left=True, lower=True, transposed=True)
    found = _solve(factor, left, left=False, lower=True, transposed=False)
    return found if lower else _swapped(found)


def _right(s: Step, ct: Term) -> Term:
    _real(s)
    attrs = s.op.attrs
    return _solve(
        s.x,
        ct,
        left=bool(attrs["left_side"]),
        lower=bool(attrs["lower"]),
        transposed=attrs["transpose_a"] == "NO_TRANSPOSE",
        unit=bool(attrs["unit_diagonal"]),
    )


def _matrix(s: Step, ct: Term) -> Term:
    """-ct_b x^T for a x = b; the others by transposing."""
    attrs, back = s.op.attrs, _right(s, ct)
    left, plain = bool(attrs["left_side"]), attrs["transpose_a"] == "NO_TRANSPOSE"
    if left:
        product = _matmul(back, s.out, -1, -1) if plain else _matmul(s.out, back, -1, -1)
    else:
        product = _matmul(s.out, back, -2, -2) if plain else _matmul(back, s.out, -2, -2)
    return -_triangle(product, lower=bool(attrs["lower"]), strict=cast(bool, attrs["unit_diagonal"]))


def _fft(s: Step, ct: Term) -> Term:
    """By the transpose, as JAX has it: that of FFT and IFFT is itself."""
    kind, lengths = str(s.op.attrs["fft_type"]), cast("tuple[int, ...]", s.op.attrs["fft_length"])
    if kind in ("FFT", "IFFT"):
        return ct.op(hlo.fft, fft_type=kind, fft_length=lengths)
    if kind == "RFFT":
        zeros = (0,) * len(ct.shape)
        behind = (*zeros[:-1], lengths[-1] - ct.shape[-1])
        whole = ct.pad(zeros, behind, zeros)
        return whole.op(hlo.fft, fft_type="FFT", fft_length=lengths).op(hlo.real)
    waves = ct.op(hlo.fft, fft_type="RFFT", fft_length=lengths)
    return (waves * _counted(waves, lengths)).op(chlo.conj)


def _counted(waves: Term, lengths: tuple[int, ...]) -> Term:
    """How often IRFFT counts each wave, divided by the number of elements: its last ones stand for two."""
    last = len(waves.shape) - 1
    place = waves.iota(TensorType(waves.shape, "i32"), last)
    ends = place.compare("EQ", 0)
    if lengths[-1] % 2 == 0:
        ends = ends.op(hlo.or_, place.compare("EQ", lengths[-1] // 2))
    size = prod(lengths)
    return waves.filled(1 / size).where(ends, waves.filled(2 / size))


NUMERICS: dict[OpDef, Derivative] = {
    hlo.fft: linear(_fft),
    hlo.cholesky: pulls(_cholesky),
    hlo.triangular_solve: Derivative(pulls(_matrix, _right).vjp, singly=(1,)),
}
