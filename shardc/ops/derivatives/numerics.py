"""Derivatives of Cholesky's factor and triangular systems (Murray, arXiv:1602.07527), and of transforms."""

from __future__ import annotations

from math import prod
from typing import cast

from shardc.graph.types import TensorType, is_complex
from shardc.ops import chlo, hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Derivative, Missing, Step, linear, pulls
from shardc.ops.derivatives.decompositions import decomposition
from shardc.ops.derivatives.matrices import matmul, solve, swapped, triangle
from shardc.ops.derivatives.terms import Term


def _real(s: Step) -> None:
    if is_complex(s.op.operands[0].dtype):
        raise Missing("the derivative is that of real matrices")


def _cholesky(s: Step, ct: Term) -> Term:
    """S = L^-T P L^-1, where P is the lower triangle of L^T ct with half its diagonal."""
    _real(s)
    lower = bool(s.op.attrs.get("lower", False))
    factor, ct = (s.out, ct) if lower else (swapped(s.out), swapped(ct))
    factor, ct = triangle(factor, lower=True), triangle(ct, lower=True)
    product = matmul(factor, ct, -2, -2)
    half = (triangle(product, lower=True) + triangle(product, lower=True, strict=True)) * 0.5
    left = solve(factor, half, left=True, lower=True, transposed=True)
    found = solve(factor, left, left=False, lower=True, transposed=False)
    return found if lower else swapped(found)


def _right(s: Step, ct: Term) -> Term:
    _real(s)
    attrs = s.op.attrs
    return solve(
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
        product = matmul(back, s.out, -1, -1) if plain else matmul(s.out, back, -1, -1)
    else:
        product = matmul(s.out, back, -2, -2) if plain else matmul(back, s.out, -2, -2)
    return -triangle(product, lower=bool(attrs["lower"]), strict=cast(bool, attrs["unit_diagonal"]))


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
    hlo.custom_call: Derivative(decomposition),
    hlo.triangular_solve: Derivative(pulls(_matrix, _right).vjp, singly=(1,)),
}
