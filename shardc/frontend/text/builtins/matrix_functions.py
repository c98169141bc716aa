"""Functions of matrices that are made of decompositions: pinv, lstsq, expm, eig."""

from __future__ import annotations

from functools import partial

import numpy as np

from shardc.frontend.text.annotations import Annotated
from shardc.frontend.text.builtins.complex_numbers import complex_
from shardc.frontend.text.builtins.counted import fori_loop
from shardc.frontend.text.builtins.creation import eye
from shardc.frontend.text.builtins.elementwise import abs_, where
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.formulas import log2
from shardc.frontend.text.builtins.linear_algebra import (
    adjoint,
    info_of,
    lapack,
    matrices,
    solve,
    succeeded,
    svd,
)
from shardc.frontend.text.builtins.operators import add, multiply, power, subtract
from shardc.frontend.text.builtins.products import matmul, same_dtype
from shardc.frontend.text.builtins.reductions import max_, sum_
from shardc.frontend.text.builtins.shapes import slice_dim
from shardc.frontend.text.derivative_rules import CustomRule
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.places import Pos
from shardc.frontend.text.trees import tensors_of
from shardc.frontend.text.typed import written_as
from shardc.frontend.text.values import Dtype, FunctionName, Operand, Scalar, Tensor, Value
from shardc.graph.types import TensorType, is_complex
from shardc.ops import func, hlo

_SQUARINGS = 16
"""How often expm squares at most, as JAX's."""


def _eps(x: Tensor) -> float:
    return float(np.finfo(TensorType((), x.dtype).numpy).eps)


def pinv(e: Emitter, a: Operand, rtol: Scalar | None = None) -> Tensor:
    """The pseudoinverse; singular values up to rtol times the largest count as zero."""
    x = matrices(e, "pinv", a, square=False)
    least = 10 * max(x.shape[-2:]) * _eps(x) if rtol is None else float(rtol)
    rows, columns = x.shape[-2:]
    if not rows or not columns:
        raise e.error(f"pinv of {x.type}, which is empty")
    symbol = e.helper(
        f"pinv_{least:.3g}".replace(".", "_").replace("-", "_"), [x.type], partial(_pinv, e, least)
    )
    pos = Pos(e.loc.line, e.loc.col, e.loc.file)

    def forward(one: Value) -> Value:
        assert isinstance(one, Tensor)
        (found,) = _pinv(e, least, one)
        return found, (one, found)

    def backward(saved: Value, ct: Value) -> Value:
        return (_pinv_backward(e, tensors_of(saved), tensors_of(ct)[0]),)

    e.rules.customs[symbol] = CustomRule(
        "pinv", (Annotated(x.type, None, written_as(x.type, pos)),), forward, backward
    )
    result = x.type.with_shape((*x.shape[:-2], columns, rows))
    return e.ops(func.call.name, x, results=[result], weak=False, callee=symbol)[0]


def _pinv(e: Emitter, least: float, x: Tensor) -> list[Tensor]:
    u, values, v = tensors_of(svd(e, x, full_matrices=False))
    largest = slice_dim(e, values, values.rank - 1, 0, 1)
    small = Formula(e, values).compare("<=", multiply(e, largest, least))
    inverse = 1 / Formula(e, float("inf")).where(small, values)
    scaled = multiply(e, adjoint(e, u), e.reshape(inverse.tensor, (*values.shape, 1)))
    return [matmul(e, adjoint(e, v), scaled)]


def _pinv_backward(e: Emitter, saved: list[Tensor], ct: Tensor) -> Tensor:
    """-P^H C P^H + (1 - A P) C^H P P^H + P^H P C^H (1 - P A): Golub and Pereyra's formula, transposed."""
    a, p = saved
    h, c = adjoint(e, p), adjoint(e, ct)
    first = matmul(e, matmul(e, h, ct), h)
    inner = matmul(e, matmul(e, c, p), h)
    second = subtract(e, inner, matmul(e, a, matmul(e, p, inner)))
    outer = matmul(e, h, matmul(e, p, c))
    third = subtract(e, outer, matmul(e, matmul(e, outer, p), a))
    return add(e, subtract(e, second, first), third)


def lstsq(e: Emitter, a: Operand, b: Operand, rcond: Scalar | None = None) -> tuple[Tensor, ...]:
    """x that makes the norm of a x - b least, the squares of residuals, the rank and the singular values."""
    left, right = (e.inexact(one) for one in same_dtype(e, a, b))
    left = matrices(e, "lstsq", left, square=False)
    if left.rank != 2 or right.rank not in (1, 2) or right.shape[0] != left.shape[0] or 0 in left.shape:
        raise e.error(
            f"lstsq of {left.type} and {right.type}: it takes a matrix, and a vector of its rows or several"
        )
    vector = right.rank == 1
    right = e.reshape(right, (*right.shape, 1)) if vector else right
    share = _eps(left) * max(left.shape) if rcond is None else _eps(left) if rcond < 0 else float(rcond)
    u, values, v = tensors_of(svd(e, left, full_matrices=False))
    limit = multiply(e, slice_dim(e, values, 0, 0, 1), share)
    kept = Formula(e, values).compare(">", 0).op(hlo.and_, Formula(e, values).compare(">=", limit))
    inverse = (1 / Formula(e, where(e, kept.x, values, 1))).where(kept, 0)
    scaled = multiply(e, e.reshape(inverse.tensor, (*values.shape, 1)), matmul(e, adjoint(e, u), right))
    x = matmul(e, adjoint(e, v), scaled)
    rest = abs_(e, subtract(e, right, matmul(e, left, x)))
    residuals = sum_(e, multiply(e, rest, rest), 0, False)
    x = e.reshape(x, x.shape[:1]) if vector else x
    return x, residuals, sum_(e, kept.tensor, None, False), values


_PADE = {
    "f32": (3.925724783138660, (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)),
    "f64": (
        5.371920351148152,
        (
            *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0),
            *(129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0),
            *(40840800.0, 960960.0, 16380.0, 182.0, 1.0),
        ),
    ),
}
"""The norm up to which an approximation is good, and its coefficients (Higham 2005, table 2.3)."""


def expm(e: Emitter, A: Operand) -> Tensor:
    """The exponential of matrices, by a rational approximation of A / 2^n that is squared n times."""
    x = matrices(e, "expm", A)
    real = {"c64": "f32", "c128": "f64"}.get(x.dtype, x.dtype)
    limit, terms = _PADE[real]
    size = max_(e, sum_(e, abs_(e, x), -2, False), -1, False)
    halvings = log2(e, Formula(e, size).op(hlo.maximum, _tiny(real)).x)
    count = Formula(e, subtract(e, halvings, float(np.log2(limit)))).op(hlo.ceil).op(hlo.maximum, 0.0)
    scale = power(e, 2.0, e.reshape(count.tensor, (*count.tensor.shape, 1, 1)))
    small = multiply(e, x, e.cast((1 / Formula(e, scale)).tensor, x.dtype))
    odd, even = _terms(e, small, terms)
    first = solve(e, subtract(e, even, odd), add(e, even, odd))

    def over(captured: tuple[Value, ...]) -> FunctionName:
        def step(turn: Value, found: Value) -> Value:
            (turns,) = captured
            assert isinstance(turn, Tensor) and isinstance(turns, Tensor) and isinstance(found, Tensor)
            more = Formula(e, e.cast(turn, turns.dtype)).compare("<", turns)
            return where(e, more.x, matmul(e, found, found), found)

        return FunctionName("expm", None, step, captured, over)

    turns = e.reshape(count.tensor, (*count.tensor.shape, 1, 1))
    last = fori_loop(e, 0, _SQUARINGS, over((turns,)), first)
    assert isinstance(last, Tensor)
    beyond = Formula(e, turns).compare(">", float(_SQUARINGS))
    return where(e, beyond.x, float("nan"), last)


def _tiny(dtype: str) -> float:
    return float(np.finfo(TensorType((), dtype).numpy).tiny)


def _terms(e: Emitter, x: Tensor, terms: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """The odd and the even terms of a polynomial of a matrix."""
    one = e.broadcast_to(eye(e, x.shape[-1], None, Dtype(x.dtype)), x.shape)
    square, odd, even = matmul(e, x, x), multiply(e, one, terms[1]), multiply(e, one, terms[0])
    so_far = one
    for at in range(2, len(terms), 2):
        so_far = square if at == 2 else matmul(e, so_far, square)
        even = add(e, even, multiply(e, so_far, terms[at]))
        odd = add(e, odd, multiply(e, so_far, terms[at + 1]))
    return matmul(e, x, odd), even


def eig(e: Emitter, a: Operand) -> tuple[Tensor, ...]:
    """Eigenvalues and eigenvectors, complex; the vectors have no derivative."""
    return _eigen(e, "eig", a, "V")


def eigvals(e: Emitter, a: Operand) -> Tensor:
    """Eigenvalues, complex."""
    return _eigen(e, "eigvals", a, "N")[0]


def _eigen(e: Emitter, name: str, a: Operand, right: str) -> tuple[Tensor, ...]:
    x = matrices(e, name, a)
    wide = {"f32": "c64", "f64": "c128"}.get(x.dtype, x.dtype)
    values, vectors = x.type.with_shape(x.shape[:-1]), x.type.with_dtype(wide)
    parts = [values] if is_complex(x.dtype) else [values, values]
    types = [*parts, vectors, vectors, info_of(x)]
    *found, _, right_vectors, info = lapack(
        e, "geev", [x], types, compute_left=ord("N"), compute_right=ord(right)
    )
    value = found[0] if len(found) == 1 else e.tensor(complex_(e, *found))
    return succeeded(e, info, value), succeeded(e, info, right_vectors)
